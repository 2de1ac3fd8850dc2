"""The Dockerfile's own steps, gone through without Docker; what they make runs as it is shipped."""

import importlib
import os
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from tests import patience
from tests.attacks.client import Session
from tests.attacks.server import App, own_ports, wait_until
from tests.deploy.proxied import DEPLOY

ROOT = DEPLOY.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


@pytest.fixture(scope="module")
def tool():
    """deploy/try_dockerfile.py, which is no package."""
    sys.path.insert(0, str(DEPLOY))
    yield importlib.import_module("try_dockerfile")
    sys.path.remove(str(DEPLOY))


@pytest.fixture(scope="module")
def built(tool):
    """The last stage; this environment's packages are linked where pip would install them."""
    with tempfile.TemporaryDirectory(prefix="mla-image-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # for the user of the image
        build = tool.Build(folder, {}, linked=True)
        yield build, build.run(DOCKERFILE)


def test_the_steps_make_the_app_and_leave_out_what_it_does_not_need(built):
    _, stage = built
    left = {path.name for path in stage.folder.iterdir()}
    assert {"app.py", "pages", "ui", "mla_engine", "assets", ".streamlit", "deploy"} <= left
    assert not left & {"tests", "benchmarks", ".git", ".venv", "requirements-dev.txt"}
    assert not (stage.folder / "assets" / "screenshots").exists()
    assert list(stage.folder.glob("ui/__pycache__/*.pyc"))
    assert (stage.folder / "models").readlink() == stage.root / "home/user/models"


def test_no_stage_but_the_last_installs_and_the_last_has_no_tools():
    first, last = DOCKERFILE.rsplit("\nFROM ", 1)
    assert "pip" in first
    assert not re.search(r"\binstall\b|apt|gcc|curl", last)
    assert "pip uninstall" in last
    assert re.search(r"^USER 1000$", last, re.MULTILINE)
    assert "USER" not in first


def test_it_runs_as_its_user_on_a_read_only_root_and_is_healthy_only_when_warm(tool, built):
    build, stage = built
    (port,) = own_ports(1)
    assert not tool.healthy(build, stage, port)
    assert build.environment(stage)["MLA_WARM"] == "1"  # tried in tests/load/test_warm.py
    with tool.started(build, stage, port) as process:
        app = App(process, Path(os.devnull), f"http://127.0.0.1:{port}")
        well = partial(tool.healthy, build, stage, port)  # every page is run first
        wait_until(lambda: ended(process) or well(), "it is healthy", 3 * patience.SECONDS)
        assert app.get("/healthz")[0] == 200
        with Session(app.url) as visitor:
            seen = visitor.open("attention_maps")
            assert not seen.exceptions
            assert not seen.alerts
        if tool.can_jail():
            for one in app.processes():
                said = Path(f"/proc/{one}/status").read_text()
                assert re.search(r"^Uid:\t1000\t1000\t1000\t1000$", said, re.MULTILINE)
                assert re.search(r"^NoNewPrivs:\t1$", said, re.MULTILINE)
                mounts = Path(f"/proc/{one}/mounts").read_text().splitlines()
                root = next(line.split() for line in mounts if line.split()[1] == "/")
                assert "ro" in root[3].split(",")


def ended(process):
    assert process.poll() is None, process.returncode


def test_a_dockerfile_with_a_step_that_it_does_not_know_is_not_passed_over(tool, tmp_path):
    build = tool.Build(tmp_path, {}, linked=True)
    with pytest.raises(AttributeError, match="_volume"):
        build.run("FROM x\nVOLUME /x")
    with pytest.raises(subprocess.CalledProcessError):
        build.run("FROM y AS y\nRUN false")
