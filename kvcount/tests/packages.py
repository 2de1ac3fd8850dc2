"""Builds wheels offline from a copy of their sources, and installs them into fresh environments."""

import shutil
import subprocess
import sys
from pathlib import Path

BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


def wheel_of(project: Path, tree: Path) -> Path:
    """Build the wheel of a project that has been copied into `tree`."""
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    shutil.copytree(project, tree, ignore=left_out, dirs_exist_ok=True)
    made = tree.parent / f"wheel of {tree.name}"
    command = [sys.executable, "-c", BUILD, str(made)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (wheel,) = made.glob("*.whl")
    return wheel


def environment(folder: Path, *wheels: Path) -> Path:
    """Make an environment with these wheels and nothing else; return its folder of commands."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"]
    subprocess.run([*pip, "-qq", "--no-index", *map(str, wheels)], check=True)
    return folder / "bin"
