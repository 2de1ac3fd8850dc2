"""Checkpoints that a stranger might offer: the demonstration model with one file made hostile."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

LETTER = "a"  # that the texts of the tests hold


def copied(demo: str, folder: Path, change: Callable[[Path], None]) -> Path:
    """A copy of the model in `folder`, changed."""
    change(Path(shutil.copytree(demo, folder)))
    return folder


def normalizer(*rules: dict) -> Callable[[Path], None]:
    """A tokenizer that changes every text by these rules."""

    def change(folder: Path) -> None:
        file = folder / "tokenizer.json"
        held = json.loads(file.read_text("utf-8"))
        held["normalizer"] = {"type": "Sequence", "normalizers": list(rules)}
        file.write_text(json.dumps(held), "utf-8")

    return change


def growing(times: int, by: int = 2) -> Callable[[Path], None]:
    """A tokenizer whose rules make a text `by` ** `times` as long."""
    rule = {"type": "Replace", "pattern": {"String": LETTER}, "content": by * LETTER}
    return normalizer(*[rule] * times)


def bad_charsmap(folder: Path) -> None:
    """A tokenizer on which the library panics where it is read."""
    text = base64.b64encode(b"\xff\xff\xff\x00" + 64 * b"\1").decode()
    normalizer({"type": "Precompiled", "precompiled_charsmap": text})(folder)


def empty_pattern(folder: Path) -> None:
    """A tokenizer on which the library panics where it cuts a text."""
    normalizer({"type": "Replace", "pattern": {"Regex": ""}, "content": "y"})(folder)


def config(**values: object) -> Callable[[Path], None]:
    """A config.json with these entries more."""

    def change(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | values), "utf-8")

    return change


def index_of(text: Callable[[], str]) -> Callable[[Path], None]:
    """An index with this text."""

    def change(folder: Path) -> None:
        (folder / "model.safetensors.index.json").write_text(text(), "utf-8")

    return change


def header_of(text: bytes) -> Callable[[Path], None]:
    """Shards with this header."""

    def change(folder: Path) -> None:
        for file in folder.glob("*.safetensors"):
            file.write_bytes(len(text).to_bytes(8, "little") + text)

    return change
