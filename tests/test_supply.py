"""Every package is installed by its version and hashes, on every system alike."""

import re
import sys
from pathlib import Path
from subprocess import run

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
HASHES = re.compile(r"( --hash=sha256:[0-9a-f]{64})+")
VERSIONS = ("3.11", "3.12", "3.13")
SYSTEMS = (("linux", "Linux"), ("darwin", "Darwin"), ("win32", "Windows"))
CUDA = re.compile(r"(nvidia|cuda|triton)\b")


def requirements(file):
    """Return the lines of a requirements file, continued ones joined, without comments."""
    text = (ROOT / file).read_text("utf-8").replace("\\\n", "")
    lines = (re.sub(r"(^|\s+)#.*", "", line) for line in text.splitlines())
    return [re.sub(r"\s+--hash", " --hash", line) for line in lines if line.strip()]


def pinned(lines):
    """Return name -> version and marker, of lines that pin one version each."""
    found = {}
    for one in map(Requirement, lines):
        assert re.fullmatch(r"==[^*]+", str(one.specifier)), one
        found.setdefault(canonicalize_name(one.name), []).append((str(one.specifier), one.marker))
    return found


DIRECT = pinned(requirements("requirements.txt"))
LOCK = pinned(line.partition(" --hash")[0] for line in requirements("requirements.lock"))


def test_the_lock_has_every_pin_of_the_requirements_but_torch():
    assert {name: LOCK.get(name) for name in DIRECT if name != "torch"} == {
        name: pins for name, pins in DIRECT.items() if name != "torch"
    }
    assert "torch" not in LOCK
    assert [name for name in LOCK if CUDA.match(name)] == []


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-uv.txt"])
def test_every_line_has_hashes_and_none_an_address(file):
    for line in requirements(file):
        name, _, hashes = line.partition(" --hash")
        assert HASHES.fullmatch(f" --hash{hashes}"), name
    assert not re.search(r"https?://|--index|--find-links| @ ", (ROOT / file).read_text("utf-8"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("platform", "system"), SYSTEMS)
def test_no_package_is_asked_for_twice_on_one_system(version, platform, system):
    here = {"python_version": version, "python_full_version": f"{version}.0"}
    here |= {"sys_platform": platform, "platform_system": system, "platform_machine": "x86_64"}
    for name, pins in LOCK.items():
        assert sum(not marker or marker.evaluate(here) for _, marker in pins) <= 1, name


def test_torch_needs_nothing_beside_the_lock_on_a_cpu():
    from importlib.metadata import requires

    needed = [one for one in map(Requirement, requires("torch")) if not CUDA.match(one.name)]
    always = [one for one in needed if not one.marker or one.marker.evaluate({"extra": ""})]
    assert len(always) > 3
    for one in always:
        pins = LOCK[canonicalize_name(one.name)]
        assert all(one.specifier.contains(version[2:]) for version, _ in pins), one


def test_what_installs_asks_for_the_hashes():
    for file in ("Makefile", "Dockerfile"):
        text = (ROOT / file).read_text("utf-8")
        lock = [line for line in text.splitlines() if "-r requirements.lock" in line]
        assert len(lock) == 1
        assert "--require-hashes --only-binary :all:" in lock[0]
        assert "$(grep '^torch==' requirements.txt)" in text.replace("$$", "$")


def test_the_image_is_named_by_its_digest_and_runs_as_a_user():
    text = (ROOT / "Dockerfile").read_text("utf-8")
    stages = set(re.findall(r"^FROM .* AS (\w+)$", text, re.MULTILINE))
    images = set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) - stages
    assert all(re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image) for image in images)
    assert len(images) == 1
    assert re.search(r"HEALTHCHECK .*--timeout=\d+s", text)
    installs, runs = text.rsplit("\nFROM ", 1)
    assert "pip uninstall --quiet --yes pip && useradd --create-home --uid 1000 user" in runs
    assert not re.search(r"\binstall\b|apt|gcc|curl", runs)
    assert re.findall(r"^USER (\w+)$", runs, re.MULTILINE) == ["1000"]
    assert "USER" not in installs


def test_the_image_has_the_files_that_it_names_and_no_test():
    text = (ROOT / "Dockerfile").read_text("utf-8")
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    started = re.findall(r'CMD \["python", "(\S+)"\]$', text, re.MULTILINE)
    named = [name for line in copied for name in line.split()] + started
    assert {"requirements.lock", "deploy/healthy.py", "deploy/start.py"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []
    left_out = set((ROOT / ".dockerignore").read_text("utf-8").splitlines())
    assert {"tests", "benchmarks", ".git", ".venv", "models", "assets/screenshots"} <= left_out
    needed = {"app.py", "pages", "ui", "kvcount", "mla_engine", "assets", ".streamlit", "deploy"}
    assert not left_out & needed


def test_the_kernels_ask_for_what_the_tests_install():
    (triton,) = map(Requirement, requirements("requirements-gpu.txt"))
    assert re.fullmatch(r"==[^*]+", str(triton.specifier))
    assert triton.name == "triton"
    rule = re.search(
        r"^\.venv/ready-to-test-all: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert "requirements-gpu.txt" in rule[1].split()


IMPORTING = """
import sys
sys.modules["triton"] = None
import mla_engine
from mla_engine import timing
print(mla_engine.MultiHeadLatentAttention, timing.seconds)
"""


def test_the_engine_is_imported_where_triton_is_missing():
    run([sys.executable, "-c", IMPORTING], cwd=ROOT, check=True, capture_output=True)
