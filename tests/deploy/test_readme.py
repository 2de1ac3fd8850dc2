"""The steps of deploy/README.md, gone through as they stand there, in an empty folder."""

import re
import shutil
import sys

from tests.attacks.client import Session
from tests.attacks.server import OWN_HOST, ROOT, logged, own_ports, wait_until
from tests.classroom import redis_server
from tests.deploy.proxied import DEPLOY, Proxy

LEFT_OUT = ".git", ".venv", "build", "tests", "benchmarks", "__pycache__"
PREPARED = "sudo apt-get install", "git clone", "make install"  # this machine, and the copy below
STEPS = re.search(
    r"## Without Docker.*?```\n(.*?)```", (DEPLOY / "README.md").read_text("utf-8"), re.DOTALL
)[1].splitlines()


def test_the_stated_steps_reach_a_running_system_with_a_class(tmp_path):
    assert [line.startswith(PREPARED) for line in STEPS[:3]] == [True] * 3
    folder = tmp_path / "mla"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (folder / ".venv").symlink_to(sys.prefix)
    with redis_server.running(tmp_path) as redis:
        steps = "\n".join(STEPS[3:])
        assert "redis://localhost:6379/0" in steps
        steps = steps.replace("redis://localhost:6379/0", redis.url)
        *ports, port = own_ports(4)
        own = {"MLA_HOST": OWN_HOST, "MLA_APP_HOST": OWN_HOST, "MLA_PORT": str(ports[0])}
        own |= {"MLA_PROXY_PORT": f"{OWN_HOST}:{port}", "HF_HOME": str(tmp_path / "hub")}
        own |= {"MLA_PROXY_FOLDER": str(tmp_path / "proxy")}
        command = ["sh", "-e", "-c", f"cd {folder}\n{steps}"]
        with logged(command, own, kind=Proxy, address=f"http://{OWN_HOST}:{port}") as app:
            wait_until(lambda: app.health() == 200 or not app.alive, "the app answers")
            assert app.alive, app.log
            assert app.get("/healthz")[0] == 404
            for one in ports:  # else a visitor may be sent to one that is not ready yet
                wait_until(lambda one=one: warm(one), f"the process on {one} is there")
            with Session(app.url) as visitor:
                assert visitor.open().widget("button", "Class")
            assert "Traceback" not in app.log


def warm(port: int) -> bool:
    return Proxy(None, None, f"http://{OWN_HOST}:{port}").health() == 200
