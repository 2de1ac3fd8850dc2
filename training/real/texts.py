"""English text of two kinds, in four parts that share nothing, for fitting, training and testing.

Six novels by Jane Austen, as Debian's package r-cran-janeaustenr carries them (public domain; each
line as printed there), and the language reference of Python, as its standard library carries it
(pydoc_data.topics, sorted by name; another version of Python has other texts). A novel, a topic and
a paragraph of topics, some of which contain others, belong to one part alone. None of them is kept
in the project: the package is fetched once into build/, by `apt-get download`, and is checked.
"""

import pydoc_data.topics
import struct
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE, VERSION = "r-cran-janeaustenr", "1.0.0-1"
SHA256 = "df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95"
FOLDER = ROOT / "build" / "texts"
DATABASE = "./usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
STRINGS, A_STRING = 16, 9  # types of R's serialisation
HEADER = ">2s3I"  # "X\n", its version, R's own, and the earliest that can read it

NOVELS, DOCUMENTATION = "novels", "documentation"
PARTS = {  # the novels of a part, and which third of the topics
    "calibration": (("EMMA",), 0),
    "test": (("PERSUASION",), 1),
    "training": (("SENSE AND SENSIBILITY", "PRIDE AND PREJUDICE", "MANSFIELD PARK"), 2),
    "validation": (("NORTHANGER ABBEY",), None),
}


class TextsError(RuntimeError):
    """The novels cannot be had; its message says why and what to do."""


def texts(part: str, folder: Path = FOLDER) -> dict[str, str]:
    """Return the texts of a part by their kind; that of a kind is one long string.

    Args:
        part: one of PARTS.
        folder: where the package with the novels lies, or is put.

    Raises:
        KeyError: no such part.
        TextsError: the package is not there and cannot be fetched, or is another.
    """
    titles, third = PARTS[part]
    found = novels(fetched(folder))
    both = {NOVELS: "\n\n".join(found[title] for title in titles)}
    return both if third is None else both | {DOCUMENTATION: documentation(third)}


def digest(text: str) -> str:
    """Return the sha256 of a text, by which a measurement names it."""
    return sha256(text.encode()).hexdigest()


def documentation(third: int) -> str:
    """Return the first (0), second or last third of the topics, by number, sorted by name.

    A paragraph that stood before, in this third or an earlier one, is left out.
    """
    named = sorted(pydoc_data.topics.topics.items())
    start, end = (len(named) * place // 3 for place in (third, third + 1))
    before, kept = set(), []
    for number, (_, text) in enumerate(named[:end]):
        for paragraph in text.strip().split("\n\n"):
            words = tuple(paragraph.split())
            if number >= start and words not in before:
                kept.append(paragraph)
            before.add(words)
    return "\n\n".join(kept)


def fetched(folder: Path = FOLDER) -> Path:
    """Return the package with the novels; it is fetched where it is not there.

    Raises:
        TextsError: it cannot be fetched, or it is another one.
    """
    path = folder / f"{PACKAGE}_{VERSION}_all.deb"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as part:
            _download(Path(part))
            (Path(part) / path.name).rename(path)
    found = sha256(path.read_bytes()).hexdigest()
    if found != SHA256:
        raise TextsError(f"{path} is another file ({found}) than wanted ({SHA256}): remove it")
    return path


def _download(folder: Path) -> None:
    command = ["apt-get", "download", "--quiet=2", f"{PACKAGE}={VERSION}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        failed, said = done.returncode, done.stderr.strip()
    except FileNotFoundError:
        failed, said = 1, "there is no apt-get"
    if failed:
        raise TextsError(
            f"{PACKAGE} {VERSION} of Debian, which carries the novels, cannot be fetched: {said}\n"
            f"It needs a network and Debian's lists (apt-get update); the file, fetched elsewhere, "
            f"may also be put into {FOLDER}"
        )


def novels(package: Path) -> dict[str, str]:
    """Return the novels in a Debian package by their titles, in capitals."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    archive = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        values = [_lines(value) for value in _values(files.extractfile(DATABASE).read())]
    return {lines[0].upper(): "\n".join(lines).strip() for lines in values}


def _values(database: bytes) -> Iterator[bytes]:
    """Yield the values of an R package's data: each a length and what zlib packed, end to end."""
    while database:
        unpacking = zlib.decompressobj()
        yield unpacking.decompress(database[struct.calcsize(">I") :])
        database = unpacking.unused_data


def _lines(value: bytes) -> list[str]:
    """Return the strings of a value that R has serialised."""
    place = struct.calcsize(HEADER)
    (encoding,) = struct.unpack_from(">I", value, place)
    place += 4 + encoding
    kind, count = struct.unpack_from(">2I", value, place)
    if kind != STRINGS:
        raise TextsError(f"{PACKAGE} {VERSION} has a value of type {kind}, not strings")
    place += 8
    lines = []
    for _ in range(count):
        kind, length = struct.unpack_from(">2I", value, place)
        if kind & 0xFF != A_STRING:
            raise TextsError(f"{PACKAGE} {VERSION} has a string of type {kind & 0xFF}")
        place += 8
        lines.append(value[place : place + length].decode())
        place += length
    return lines
