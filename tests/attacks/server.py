"""The real app in a process of its own, and what it takes of the machine."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests import patience

ROOT = Path(__file__).parents[2]
OURS = ("MLA_", "HF_", "HUGGING", "PUBLIC_URL", "STREAMLIT_")  # nothing of these from outside
TELLS = r"\bURL: (http://[\w.:]+)"
MIB = 2**20


@dataclass(frozen=True)
class App:
    """A server that runs: its process, the file of its log, and its address if that is given."""

    process: subprocess.Popen
    log_file: Path
    address: str = ""

    @property
    def url(self):
        """Return its address: the system has chosen its port, which its log tells.

        Raises:
            OSError: it does not say yet.
        """
        if not (told := self.address or re.search(TELLS, self.log)):
            raise ConnectionRefusedError("no address in its log")
        return self.address or told[1]

    @property
    def log(self):
        """All that it has written, of both streams."""
        return self.log_file.read_text("utf-8", "replace")

    @property
    def alive(self):
        return self.process.poll() is None

    def get(self, path, **headers):
        """Status, headers and body of an answer, of a refusal too."""
        asked = urllib.request.Request(f"{self.url}{path}", headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=patience.SECONDS) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.headers, refused.read()

    def answer(self, path):
        """Return what `get` returns; None while nobody answers."""
        try:
            return self.get(path)
        except OSError:
            return None

    def processes(self):
        """The server's id, and those of all that it started."""
        parents = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # ended meanwhile
                continue
            parents.setdefault(int(after_name[1]), []).append(int(folder.name))
        found = [self.process.pid]
        for one in found:  # grows
            found += parents.get(one, [])
        return found

    def resident_bytes(self, workers=True):
        """Return the bytes that it holds in memory, with its workers or alone."""
        return sum(map(resident_bytes, self.processes() if workers else [self.process.pid]))


def resident_bytes(process):
    """The resident memory of one process, 0 of one that has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGESIZE")


def _own_host():
    """An address of this machine that no other process of it uses: it has the process's number."""
    number = os.getpid()
    return f"127.{64 + (number >> 16) % 128}.{number >> 8 & 255}.{number & 255}"


OWN_HOST, _PORTS = _own_host(), count(20_000 + os.getpid() % 1_000 * 12)


def own_ports(many):
    """So many ports in a row at OWN_HOST; never the same again, so that nobody else takes them.

    They lie below those that the system gives to whoever asks for any.
    """
    return [next(_PORTS) for _ in range(many)]


@contextmanager
def logged(command, environment=None, folder=ROOT, kind=App, **given):
    """A process that writes into a log, as a `kind` with what is `given`; it ends with the block.

    `environment` is what it has beside this process's own, of which nothing of OURS is passed.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    inherited |= {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    inherited["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] = "false"
    with tempfile.TemporaryDirectory() as place:
        log_file = Path(place) / "log.txt"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=inherited | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that its workers end with it
            )
        try:
            yield kind(process, log_file, **given)
        finally:
            end(process)


def started(environment=None, *, root=ROOT, folder=None, options=(), port=0):
    """The app's process, as `streamlit run` makes it; perhaps not yet answering, or ended.

    `root` is the project that it runs, perhaps a changed copy, `folder` the working directory,
    `environment` what it has beside this process's own, `options` are more of streamlit's, and
    `port` is where it answers: at 0 the system chooses.
    """
    command = [sys.executable, "-m", "streamlit", "run", str(root / "app.py")]
    command += ["--server.port", str(port), "--server.address", "127.0.0.1", *options]
    given = {"PYTHONPATH": str(root)} | (environment or {})
    return logged(command, given, folder or root)


def copied(root, changes):
    """A copy of the project with changed files: name -> (what is there once, what replaces it)."""
    for name in ("ui", "pages", ".streamlit"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=left_out)
    for name in ("kvcount", "mla_engine", "assets"):
        (root / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "app.py", root)
    for name, (old, new) in changes.items():
        text = (root / name).read_text("utf-8")
        assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
        (root / name).write_text(text.replace(old, new), "utf-8")
    return root


@contextmanager
def running(environment=None, **given):
    """The app, up and healthy; arguments as of `started`."""
    with started(environment, **given) as app:
        wait_until(lambda: healthy(app), "the server is healthy")
        yield app


def healthy(app):
    """Return whether the server answers that it is well.

    Raises:
        RuntimeError: it has ended.
    """
    if not app.alive:
        raise RuntimeError(f"the server ended with {app.process.returncode}:\n{app.log}")
    return (app.answer("/_stcore/health") or [None])[0] == 200


def wait_until(holds, what="it holds", seconds=patience.SECONDS):
    """Wait for a state; the limit is only there so that a failure is told."""
    until, pause = time.monotonic() + seconds, 0.001
    while not (found := holds()):
        if time.monotonic() > until:
            raise TimeoutError(f"waited {seconds} s until {what}")
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
    return found


def end(process):
    """End a server and its workers, first asking."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
