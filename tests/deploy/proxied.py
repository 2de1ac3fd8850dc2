"""Real processes of the app behind a real nginx, started as deploy/ starts them."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.server import OURS, ROOT, App, end, free_port, wait_until

DEPLOY = ROOT / "deploy"
COOKIE = re.compile(r"mla_process=(\d+)")


@dataclass(frozen=True)
class Processes(App):
    """What start.py runs: its own process, and where the others listen."""

    ports: range

    def app(self, port):
        """One of them, asked past the proxy."""
        return App(f"http://127.0.0.1:{port}", self.process, self.log_file)

    def pid(self, port):
        """Of the process that listens on a port."""
        words = ["--server.port", str(port)]
        for process in self.processes():
            said = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
            if said[5:7] == words:
                return process
        return None

    def warm(self, port):
        """Whether it has shown a page."""
        assert self.alive, self.log
        try:
            return self.app(port).get("/healthz")[0] == 200
        except OSError:
            return False


@dataclass(frozen=True)
class Proxy(App):
    """A nginx, and the folder that it writes into."""

    folder: Path

    def given(self, answer_headers):
        """The process that a visitor is sent to from now on; None for him who has it."""
        found = [COOKIE.match(text) for text in answer_headers.get_all("Set-Cookie") or []]
        return next((int(one[1]) for one in found if one), None)

    def first_visit(self):
        """The port that a browser without a cookie is given."""
        return self.given(self.get("/")[1])

    def health(self):
        try:
            return self.get("/")[0]
        except OSError:
            return None


def as_visitor_of(port):
    """The headers of a browser that has been there."""
    return {"Cookie": f"mla_process={port}"}


def free_ports(many):
    """A row of ports on which nobody listens."""
    while True:
        first = free_port()
        if first + many < 2**16 and all(map(_is_free, range(first, first + many))):
            return range(first, first + many)


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def run(command, environment, kind, url="", **given):
    """A process that writes into a log."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    inherited |= {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryDirectory() as place:
        log_file = Path(place) / "log.txt"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                command,
                env=inherited | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield kind(url, process, log_file, **given)
        finally:
            end(process)


@contextmanager
def processes(many, folder, environment=None):
    """So many processes of the app, all of which have shown a page."""
    ports = free_ports(many)
    settings = {"MLA_PROCESSES": str(many), "MLA_PORT": str(ports[0]), "HF_HOME": str(folder)}
    settings |= environment or {}
    command = [sys.executable, str(DEPLOY / "start.py")]
    with run(command, settings, Processes, ports=ports) as started:
        for port in ports:
            wait_until(lambda port=port: started.warm(port), f"the process on {port} is warm")
        yield started


@contextmanager
def proxy(ports, environment=None):
    """The nginx of deploy/ before processes on these ports."""
    there = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert there, "tests/find_browser.sh installs nginx"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # for the user that nginx turns into where root starts it
        port = free_port()
        settings = {"MLA_PROXY_FOLDER": folder, "MLA_PROXY_PORT": f"127.0.0.1:{port}"}
        settings |= {"MLA_PROCESSES": str(len(ports)), "MLA_PORT": str(ports[0])}
        url = f"http://127.0.0.1:{port}"
        command = ["sh", str(DEPLOY / "proxy.sh")]
        given = {"url": url, "folder": Path(folder)}
        with run(command, settings | (environment or {}), Proxy, **given) as started:
            wait_until(lambda: started.health() or not started.alive, "nginx answers")
            assert started.alive, started.log
            yield started
