"""The package alone: installed into an empty environment, it counts, and is small."""

import re
import struct
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from kvcount import find
from kvcount.tests.packages import environment, wheel_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MOST_BYTES = 5_000_000
# The beginning of a file: version 3, no tensors, one number of its metadata.
KEY = b"llama.block_count"
GGUF = b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, len(KEY)) + KEY + struct.pack("<If", 6, 1.0)
# Every module but those that read from the Hub, where none of these can be had.
ALONE = """
import importlib, pkgutil, sys
sys.modules |= dict.fromkeys(("torch", "numpy", "huggingface_hub"))
import kvcount
of_hub = tuple(f"kvcount.files.{name}" for name in ("hub", "pieces", "quota"))
for found in pkgutil.walk_packages(kvcount.__path__, "kvcount."):
    if not found.name.startswith((*of_hub, "kvcount.__main__")):
        importlib.import_module(found.name)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return wheel_of(ROOT, tmp_path_factory.mktemp("package") / "kvcount")


@pytest.fixture(scope="module")
def bin(wheel, tmp_path_factory):
    return environment(tmp_path_factory.mktemp("alone"), wheel)


def said(*command: object) -> str:
    return subprocess.run(
        [*map(str, command)], check=True, capture_output=True, text=True, cwd="/"
    ).stdout


def test_the_wheel_has_the_package_and_its_data_and_nothing_else(wheel):
    kept = [
        path.relative_to(ROOT.parent)
        for path in ROOT.rglob("*")
        if path.suffix in (".py", ".toml") and path.name != "pyproject.toml"
    ]
    with ZipFile(wheel) as files:
        names = {name for name in files.namelist() if ".dist-info/" not in name}
        assert sum(one.file_size for one in files.infolist()) < MOST_BYTES
    assert names == {path.as_posix() for path in kept if not {"tests", "build"} & {*path.parts}}


def test_it_needs_no_other_package(wheel):
    with ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith("/METADATA"))
        needed = re.findall(r"^Requires-Dist: (.*)$", files.read(name).decode(), re.MULTILINE)
    assert needed
    assert all("extra ==" in one for one in needed)


@pytest.mark.parametrize("name", PROJECT["scripts"])
def test_both_names_of_the_command_count_in_an_environment_of_its_own(bin, name):
    lines = said(bin / name, "cache", "deepseek-v3").splitlines()
    assert "70,272 bytes" in lines[1]  # 61 layers x (512 + 64) numbers x 2 bytes
    assert "deepseek-v3" in said(bin / name, "models")


def test_the_readme_s_example_says_what_the_command_says(bin):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[1]
    per_token, held = said(bin / "python", "-c", code).split()
    # 16 sequences on 8 GPUs that split the heads: a latent is copied to each.
    assert int(per_token) == 16 * 61 * 576 * 2
    assert int(held) == 131_072 * int(per_token)


@pytest.mark.parametrize(("name", "extra"), [("nobody/nothing", "hub"), ("model.gguf", "weights")])
def test_what_needs_another_package_is_refused_with_its_name(bin, tmp_path, name, extra):
    (tmp_path / "model.gguf").write_bytes(GGUF)
    asked = [bin / "kvcount", "cache", name]
    ended = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert f"pip install 'kvcount[{extra}]'" in ended.stderr


def test_everything_imports_without_tensors(bin):
    said(bin / "python", "-c", ALONE)


def test_the_source_is_found_without_an_installation():
    """From a checkout, whose folder of the package is the package."""
    told = subprocess.run(
        [sys.executable, "-m", "kvcount", "cache", "deepseek-v3"],
        cwd=ROOT.parent, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert find("deepseek-v3").name in told
