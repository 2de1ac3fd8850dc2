"""The real app in a process of its own, and what it takes of the machine."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 180  # that a server may take to start on a busy machine
OURS = ("MLA_", "HF_", "HUGGING", "PUBLIC_URL", "STREAMLIT_")  # nothing of these from outside
MIB = 2**20


@dataclass(frozen=True)
class App:
    """A server that runs: its address, its process, and the file of its log."""

    url: str
    process: subprocess.Popen
    log_file: Path

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
            with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.headers, refused.read()

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
        """What it holds in memory, with its workers or alone."""
        return sum(map(resident_bytes, self.processes() if workers else [self.process.pid]))


def resident_bytes(process):
    """The resident memory of one process, 0 of one that has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGESIZE")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(environment=None, *, root=ROOT, folder=None, options=(), port=None):
    """The app's process, as `streamlit run` makes it; perhaps not yet answering, or ended.

    `root` is the project that it runs, perhaps a changed copy, `folder` the working directory,
    `environment` what it has beside this process's own, `options` are more of streamlit's, and
    `port` is where it answers, a free one by default.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    inherited |= {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    inherited["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] = "false"
    port = port or free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(root / "app.py")]
    command += ["--server.port", str(port), "--server.address", "127.0.0.1", *options]
    with tempfile.TemporaryDirectory() as place:
        log_file = Path(place) / "log.txt"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder or root,
                env=inherited | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that its workers end with it
            )
        try:
            yield App(f"http://127.0.0.1:{port}", process, log_file)
        finally:
            end(process)


def copied(root, changes):
    """A copy of the project with changed files: name -> (what is there once, what replaces it)."""
    for name in ("ui", "pages", ".streamlit"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=left_out)
    for name in ("mla_engine", "assets"):
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
    """Whether the server answers that it is well.

    Raises:
        RuntimeError: it has ended.
    """
    if not app.alive:
        raise RuntimeError(f"the server ended with {app.process.returncode}:\n{app.log}")
    try:
        return app.get("/_stcore/health")[0] == 200
    except OSError:
        return False


def wait_until(holds, what, seconds=PATIENCE_SECONDS):
    """Wait for a state; the limit is only there so that a failure is told."""
    until = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > until:
            raise TimeoutError(f"waited {seconds} s until {what}")
        time.sleep(0.05)
    return found


def end(process):
    """End a server and its workers, first asking."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
