"""Real processes of the app behind a real nginx, started as deploy/ starts them."""

import os
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.attacks.server import OWN_HOST, ROOT, App, logged, own_ports, wait_until

DEPLOY = ROOT / "deploy"
COOKIE = re.compile(r"mla_process=(\d+)")


@dataclass(frozen=True)
class Processes(App):
    """The processes that start.py runs: its own, and the ports of the others."""

    ports: list[int] = field(default_factory=list)

    def app(self, port):
        """Return one of them, asked past the proxy."""
        return App(self.process, self.log_file, f"http://{OWN_HOST}:{port}")

    def pid(self, port):
        """Return the id of the process that listens on a port."""
        words = ["--server.port", str(port)]
        for process in self.processes():
            said = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
            if said[5:7] == words:
                return process
        return None

    def warm(self, port):
        """Return whether it has shown a page."""
        assert self.alive, self.log
        return (self.app(port).answer("/healthz") or [None])[0] == 200


@dataclass(frozen=True)
class Proxy(App):
    """A nginx, and the folder that it writes into."""

    folder: Path = ROOT

    def given(self, answer_headers):
        """The process that a visitor is sent to from now on; None for him who has it."""
        found = [COOKIE.match(text) for text in answer_headers.get_all("Set-Cookie") or []]
        return next((int(one[1]) for one in found if one), None)

    def first_visit(self):
        """The port that a browser without a cookie is given."""
        return self.given(self.get("/")[1])

    def health(self):
        """The status of the overview, None while nobody answers."""
        return (self.answer("/") or [None])[0]


def as_visitor_of(port):
    """The headers of a browser that has been there."""
    return {"Cookie": f"mla_process={port}"}


@contextmanager
def processes(many, folder, environment=None):
    """So many processes of the app, all of which have shown a page."""
    ports = own_ports(many)
    settings = {"MLA_HOST": OWN_HOST, "MLA_PORT": str(ports[0]), "MLA_PROCESSES": str(many)}
    settings |= {"HF_HOME": str(folder)} | (environment or {})
    command = [sys.executable, str(DEPLOY / "start.py")]
    with logged(command, settings, kind=Processes, ports=ports) as started:
        for port in ports:
            wait_until(lambda port=port: started.warm(port), f"the process on {port} is warm")
        yield started


@contextmanager
def proxy(ports, environment=None):
    """The nginx of deploy/ before processes on these ports."""
    there = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert there, "nginx is missing: tests/find_tools.sh installs it"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # for the user that nginx turns into where root starts it
        place = f"{OWN_HOST}:{own_ports(1)[0]}"
        settings = {"MLA_PROXY_FOLDER": folder, "MLA_PROXY_PORT": place, "MLA_APP_HOST": OWN_HOST}
        settings |= {"MLA_PROCESSES": str(len(ports)), "MLA_PORT": str(ports[0])}
        command = ["sh", str(DEPLOY / "proxy.sh")]
        given = {"kind": Proxy, "address": f"http://{place}", "folder": Path(folder)}
        with logged(command, settings | (environment or {}), **given) as started:
            wait_until(lambda: started.health() or not started.alive, "nginx answers")
            assert started.alive, started.log
            yield started
