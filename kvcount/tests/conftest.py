"""The commands `kvcount cache` and `kvcount plan`, run in this process."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kvcount.command import REFUSED, main


class Said(NamedTuple):
    """A command's end and its output."""

    status: int
    out: str
    error: str

    @property
    def found(self) -> dict[str, Any]:
        """Its JSON; it has refused nothing."""
        assert (self.status, self.error) == (0, "")
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """Return the lines that it prints, each with one space between words."""
        assert (self.status, self.error) == (0, "")
        return [" ".join(line.split()) for line in self.out.splitlines()]

    @property
    def refusal(self) -> str:
        """Its one line of refusal, beside which it prints nothing."""
        assert (self.status, self.out) == (REFUSED, "")
        assert self.error.count("\n") == 1
        assert len(self.error) < 1000
        return self.error


Run = Callable[..., Said]


def run(
    capsys: pytest.CaptureFixture[str], folder: Path, command: str, source: Any, *arguments: str
) -> Said:
    """The command over a key or a path, or over a config.json that is written into the folder."""
    if not isinstance(source, str):
        (folder / "config.json").write_text(json.dumps(source), "utf-8")
        source = str(folder / "config.json")
    status = main([command, source, *arguments])
    return Said(status, *capsys.readouterr())


@pytest.fixture
def cache(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`cache(config, "--json").found` is what `kvcount cache` says of it."""
    return partial(run, capsys, tmp_path, "cache")


@pytest.fixture
def plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run `kvcount plan`, as `cache` runs `kvcount cache`."""
    return partial(run, capsys, tmp_path, "plan")
