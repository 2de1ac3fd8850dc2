"""The two small real models that this server makes for itself: one as it was trained, one with MLA.

Where each lies, how far the first is while it is fetched, and whether its files are whole.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mla_engine.checkpoints import CheckpointError, describe, open_checkpoint, real_mla, real_model
from mla_engine.checkpoints.tokens import tokenizer_of
from ui.engine import shared_cache
from ui.engine.folders import inside, is_folder
from ui.settings import state
from ui.settings.server import server
from ui.settings.visit import once_per_run

LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class SmallModel:
    """One of them.

    Args:
        called: the name of its folder.
        names: by which links may name that: in the app's models/, or in another folder.
        pending: whether it is being made, or will be.
        failed: whether it could not be made.
    """

    called: str
    names: tuple[str, ...]
    pending: bool = False
    failed: bool = False

    def begin(self) -> None:
        """Note that it will be made."""
        self.pending, self.failed = True, False

    def end(self, *, failed: bool) -> None:
        """Note that nobody makes it any more."""
        self.pending, self.failed = False, failed

    def folder(self) -> Path:
        """Return its place: in the first of the folders that visitors may read."""
        return server().model_folders[0] / self.called

    def named(self) -> str:
        """Return how links name its folder, whole or not; "" where there is none."""
        return _named(self.names)

    def source(self) -> str:
        """Return how links name its folder; "" where none is whole."""
        return "" if self.damage() else self.named()

    def reads(self) -> bool:
        """Tell whether it reads on this page, opened with or named."""
        return state.source() in self.names

    def damage(self) -> CheckpointError | None:
        """Return what is wrong with its files; None where they are whole, or there are none."""
        return _damage_of(self.named())

    def share(self) -> float:
        """Return how far it is fetched, from 0 to 1."""
        return real_model.share(self.folder()) or 0.0


def _of(folder: Path) -> SmallModel:
    return SmallModel(folder.name, (str(folder), folder.name))


AS_TRAINED, WITH_MLA = _of(real_model.FOLDER), _of(real_mla.FOLDER)


@once_per_run
def _named(names: tuple[str, ...]) -> str:
    return next(filter(is_folder, names), "")


@once_per_run
def _damage_of(name: str) -> CheckpointError | None:
    """Return what is wrong with the files of a folder, which was made by this app.

    So they are looked at in this process.
    """
    if not name:
        return None
    folder = inside(name)
    with suppress(OSError):
        found = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
        return _damage(folder, tuple((file, one.st_size, one.st_mtime_ns) for file, one in found))
    return None


@shared_cache.cached
def _damage(folder: Path, _files: tuple[tuple[str, int, int], ...]) -> CheckpointError | None:
    """Return what is wrong with these files, of so many bytes and written then."""
    try:
        checkpoint = open_checkpoint(folder)
        describe(checkpoint, 0)
        tokenizer_of(checkpoint)
    except CheckpointError as error:
        LOG.warning("the small real model in %s is damaged: %.300s", folder, error)
        return error
    return None
