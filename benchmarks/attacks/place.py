"""Where attacks happen: the app, a Hub on this machine, and a model on the server's disk."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attacks.rows import disk_bytes
from mla_engine.checkpoints import build_demo
from tests.attacks.server import App, running
from tests.checkpoints.serving import Hub, serving
from ui.settings.server import Server

CACHE_BYTES = int(Server().cache_budget_gib * 2**30)  # stated, where nothing else is set


@dataclass(frozen=True)
class Place:
    """A server to attack: all that it keeps lies below `folder`."""

    app: App
    hub: Hub
    folder: Path

    @property
    def sources(self) -> tuple[str, ...]:
        """Checkpoints that it can read."""
        return (str(self.folder / "models/demo"), "who/model", "some/other")

    @property
    def kept_bytes(self) -> int:
        """What it keeps on the disk: of the Hub, of uploads, and what is temporary."""
        return sum(disk_bytes(self.folder / name) for name in ("kept", "models", "temporary"))


@contextmanager
def place(environment: Mapping[str, str] | None = None) -> Iterator[Place]:
    """A server with one good model in its folder; the Hub serves the same under any name.

    A folder owner/name below `hub` is served in its stead.
    """
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in ("kept", "temporary", "hub"):
            (folder / name).mkdir()
        demo = build_demo(folder / "models/demo")
        for file in demo.iterdir():
            os.link(file, folder / "hub" / file.name)
        with serving(folder / "hub") as hub:
            settings = {
                "HF_ENDPOINT": hub.address,
                "HF_HOME": str(folder / "kept"),
                "TMPDIR": str(folder / "temporary"),
                "MLA_MODEL_FOLDERS": str(folder / "models"),
            }
            with running(settings | dict(environment or {})) as app:
                yield Place(app, hub, folder)
