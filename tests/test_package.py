"""The engine as a package of its own: a wheel that installs and works alone."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from kvcount.tests.packages import wheel_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCES = sorted([*ROOT.glob("mla_engine/**/*.py"), *ROOT.glob("kvcount/**/*.py")])
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
REMOVED = {  # of the standard library, from 3.12 to 3.14
    "aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils",
    "imghdr", "imp", "lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes",
    "smtpd", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib",
}  # fmt: skip
ABSENT = (
    "huggingface_hub", "pandas", "plotly", "safetensors", "streamlit", "tokenizers", "triton", "ui",
)  # fmt: skip
EXTRA = (
    "mla_engine.figures", "mla_engine.checkpoints.",
    "mla_engine.kernels.decode", "mla_engine.kernels.launch",
)  # fmt: skip
ALONE = """
import importlib, pkgutil, sys
sys.modules |= dict.fromkeys({absent})
import kvcount, mla_engine
for one in (kvcount, mla_engine):
    assert one.__file__.startswith({folder!r}), one.__file__
for found in pkgutil.walk_packages(mla_engine.__path__, "mla_engine."):
    if not found.name.startswith({extra}):
        importlib.import_module(found.name)
mla_engine.claims.check("N1")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the engine's from its folder and what stands beside it."""
    tree = tmp_path_factory.mktemp("package") / "engine"
    tree.mkdir()
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "mla_engine", tree / "mla_engine")
    return wheel_of(tree, tree.with_name("copy"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install only the wheel, and the counter's, into an empty folder."""
    counter = wheel_of(ROOT / "kvcount", tmp_path_factory.mktemp("counter") / "kvcount")
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(counter), str(wheel)], check=True)
    return folder


def run(code, folder):
    """Return what a fresh process prints that finds the package in this folder, and no project."""
    inherited = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder.parent,
        env=inherited | {"PYTHONPATH": str(folder)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()


def description(wheel):
    with ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith("/METADATA"))
        return files.read(name).decode()


def test_the_wheel_has_the_engine_and_its_data_and_nothing_else(wheel):
    kinds = (".py", ".toml", ".json", ".md")
    kept = [path for path in ROOT.glob("mla_engine/**/*") if path.suffix in kinds]
    with ZipFile(wheel) as files:
        names = {name for name in files.namelist() if ".dist-info/" not in name}
    assert names == {path.relative_to(ROOT).as_posix() for path in kept}


def test_the_first_example_runs_where_the_wheel_alone_is_installed(wheel, installed):
    code = re.search(r"```python\n(.*?)```", description(wheel), re.DOTALL)[1]
    told = run(f"{code}\nimport mla_engine; print(mla_engine.__file__)", installed)
    assert told == [
        "latents (1, 10, 24) attention (1, 4, 10, 10)",
        "same output: True",
        "same last row: True",
        "cached numbers per token: 32",
        str(installed / "mla_engine" / "__init__.py"),
    ]


def test_the_core_works_without_what_its_extras_bring(installed):
    run(ALONE.format(absent=ABSENT, extra=EXTRA, folder=str(installed)), installed)


def test_the_wheel_says_what_it_needs_and_where_it_runs(wheel):
    said = description(wheel)
    needed = [Requirement(one) for one in re.findall(r"^Requires-Dist: (.*)$", said, re.MULTILINE)]
    core = {one.name: one.specifier for one in needed if not one.marker}
    assert set(core) == {"kvcount", "torch", "numpy"}
    assert all(core["torch"].contains(v) for v in ("2.9.0", "2.13.0", "2.15.0"))
    assert not core["torch"].contains("2.8.1")
    assert {one.name for one in needed if one.marker} >= {"plotly", "safetensors"}
    for one in needed:  # but of Triton, which only the tests of its kernels install
        assert one.name == "triton" or one.specifier.contains(version(one.name)), one
    (pythons,) = re.findall(r"^Requires-Python: (.*)$", said, re.MULTILINE)
    assert all(SpecifierSet(pythons).contains(f"{v}.0") for v in VERSIONS)
    assert not SpecifierSet(pythons).contains("3.10.9")
    named = re.findall(r"^Classifier: .* Python :: (3\.\d+)$", said, re.MULTILINE)
    assert named == list(VERSIONS)


def test_every_file_is_read_by_the_oldest_python_and_needs_nothing_that_later_ones_lost():
    for path in SOURCES:
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"), feature_version=(3, 11))))
        names = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
        names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not {name.partition(".")[0] for name in names} & REMOVED, path


def test_the_app_is_pinned_to_what_the_engine_allows():
    pinned = {
        one.name: one.specifier
        for file in ("requirements.txt", "requirements-gpu.txt")
        for line in (ROOT / file).read_text("utf-8").splitlines()
        if not line.startswith("#")
        for one in [Requirement(line)]
    }
    extras = [one for extra in PROJECT["optional-dependencies"].values() for one in extra]
    others = [one for one in PROJECT["dependencies"] if one != "kvcount"]  # it lies beside the app
    for one in map(Requirement, [*others, *extras]):
        (exact,) = pinned[one.name]
        assert exact.operator == "=="
        assert one.specifier.contains(exact.version), one
