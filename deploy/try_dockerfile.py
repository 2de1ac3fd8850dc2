"""Goes through the Dockerfile's own steps in an empty folder, and starts what they make.

    python deploy/try_dockerfile.py                    # installs everything: some minutes
    python deploy/try_dockerfile.py --linked           # takes the packages of this Python
    python deploy/try_dockerfile.py --build-arg TORCH_INDEX=https://pypi.org/simple

There is no image below the steps: this machine's Python and its tools are in its place, and /opt
and /home of each stage are folders of their own. Users are not made and pip is not removed, since
both would change this machine. As root on Linux the app runs as uid 1000 with everything read-only
but what the Dockerfile and /tmp leave to it; else as whoever calls.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dockerfile import ROOT, Build, Stage

LONGEST_WAIT = 600

# In a mount namespace of its own, so that nothing of it is seen outside: everything read-only but
# the two folders and one for temporary files, and this machine's Python where another user can
# reach it.
JAIL = """
set -e
mount --make-rprivate /
hold=$(mktemp -d)
mount --bind "$PREFIX" "$hold"
case "$PREFIX" in /root/*)
  mount -t tmpfs -o mode=755 tmpfs /root && mkdir -p "$PREFIX" && mount --bind "$hold" "$PREFIX" ;;
esac
for place in "$WRITTEN/.cache" "$WRITTEN/models"; do mount --bind "$place" "$place"; done
mount -o remount,bind,ro /
mount -t tmpfs tmpfs /dev/shm
exec setpriv --reuid "$AS_USER" --regid "$AS_USER" --clear-groups --no-new-privs \\
  env --chdir "$FOLDER" -u PREFIX -u WRITTEN -u AS_USER -u FOLDER "$@"
"""


def jailed(stage: Stage, command: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """A command of the stage, as its user with a read-only root, and what it is told for that."""
    told = {"PREFIX": sys.base_prefix, "WRITTEN": str(stage.root / "home/user")}
    told |= {"AS_USER": stage.user, "FOLDER": str(stage.folder), "TMPDIR": "/dev/shm"}
    return ["unshare", "--mount", "sh", "-c", JAIL, "sh", *command], told


def can_jail() -> bool:
    """Whether this machine lets it: root on Linux with mount namespaces."""
    tools = all(map(shutil.which, ("unshare", "setpriv")))
    tried = ["unshare", "--mount", "true"]
    return tools and not subprocess.run(tried, check=False, stderr=subprocess.DEVNULL).returncode


@contextmanager
def started(build: Build, stage: Stage, port: int) -> Iterator[subprocess.Popen]:
    """What CMD starts."""
    environment = build.environment(stage) | {"MLA_PORT": str(port), "MLA_HOST": "127.0.0.1"}
    command, told = list(stage.command), {}
    if can_jail():
        command, told = jailed(stage, stage.command)
    else:
        print("not root, or no mount namespaces: neither uid 1000 nor a read-only root is tried")
    process = subprocess.Popen(command, cwd=stage.folder, env=environment | told)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def healthy(build: Build, stage: Stage, port: int) -> bool:
    """What HEALTHCHECK says."""
    environment = build.environment(stage) | {"MLA_PORT": str(port)}
    checked = subprocess.run(
        stage.health, cwd=stage.folder, env=environment, check=False, capture_output=True
    )
    return checked.returncode == 0


def main() -> None:
    """The command."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--linked", action="store_true", help="take this Python's packages")
    options.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--port", type=int, default=8501)
    options.add_argument("--stay", action="store_true", help="go on until interrupted")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="mla-image-") as folder:
        Path(folder).chmod(0o755)
        arguments = dict(pair.split("=", 1) for pair in chosen.build_arg)
        build = Build(Path(folder), arguments, chosen.linked)
        stage = build.run((ROOT / "Dockerfile").read_text("utf-8"))
        with started(build, stage, chosen.port) as process:
            until = time.monotonic() + LONGEST_WAIT
            while not healthy(build, stage, chosen.port):
                if process.poll() is not None or time.monotonic() > until:
                    sys.exit("it did not become healthy")
                time.sleep(1)
            print(f"healthy, on http://127.0.0.1:{chosen.port}")
            if chosen.stay:
                process.wait()


if __name__ == "__main__":
    main()
