"""The sources of a config.json: a stored model, a file, a folder, standard input, or the Hub."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mla_engine.checkpoints.config_json import config_of, parse_json
from mla_engine.checkpoints.files import (
    CONFIG,
    MOST_CONFIG_BYTES,
    REPOSITORY,
    LocalFiles,
    at_most,
    existing,
    repository_files,
)
from mla_engine.model_caches.keys import UncountedError
from mla_engine.model_caches.models import MODELS, Published, named
from mla_engine.model_caches.parts import Model
from mla_engine.model_caches.read import read
from mla_engine.model_caches.storage import Storage, stored_by

BF16 = Storage()
NEAR, LIKE, MOST_LIKE = 3, 0.5, 120  # names suggested, how alike at least, letters compared
__all__ = ["Found", "find", "no_source", "of_config", "of_published", "of_text"]


@dataclass(frozen=True)
class Found:
    """A model that is counted.

    Args:
        name: as it was asked for, or as it is published.
        model: what its layers keep.
        parameters: of the whole model, None where that is not known.
        active: of them, those that a token is multiplied with, None likewise, and where all are.
        storage: the types in which its publisher stores the cache.
    """

    name: str
    model: Model
    parameters: int | None = None
    active: int | None = None
    storage: Storage = BF16

    def active_of(self, parameters: float) -> int | None:
        """Its active parameters beside another count of the whole; None where that is no more."""
        return self.active if self.active and self.active < parameters else None


def find(source: str, revision: str | None = None) -> Found:
    """The model that `source` names: the first of "-", a file, a folder, a stored name, the Hub.

    Raises:
        RefusedError: nothing of that name, no config.json, one that is not understood.
    """
    if source == "-":
        return of_text(sys.stdin.buffer.read(MOST_CONFIG_BYTES + 1))
    if (path := existing(source)) is not None:
        return of_config(source, _local(path))
    if (known := named(source)) is not None:
        return of_published(known)
    if not REPOSITORY.fullmatch(source):
        raise no_source(source)
    return of_config(source, config_of(repository_files(source, revision)))


def of_text(data: bytes) -> Found:
    """Return the model of a config.json.

    Raises:
        RefusedError: no JSON object, more of it than any has, or one that is not understood.
    """
    if len(data) > MOST_CONFIG_BYTES:
        raise UncountedError("long_config", most=MOST_CONFIG_BYTES)
    return of_config(None, parse_json(data, CONFIG))


def of_config(name: str | None, config: Mapping[str, Any]) -> Found:
    """Return the model of a config.json, by its model_type where it has no name.

    Raises:
        RefusedError: one that is not understood.
    """
    model = read(config)
    return Found(name or model.model_type, model, storage=stored_by(config))


def of_published(known: Published) -> Found:
    """Return a stored model."""
    stored = Storage(of_part=known.storage)
    return Found(known.name, known.model(), known.parameters, known.active, stored)


def no_source(source: str) -> UncountedError:
    """Return the refusal of a name that nothing has, with the stored ones that come nearest."""
    return UncountedError("no_source", source=source, near=_near(source), n=len(MODELS))


def _near(source: str) -> str:
    """Return the keys of models or of their repositories with a similar name."""
    keys = {key: key for key in MODELS}
    keys |= {one.repository.lower(): key for key, one in MODELS.items() if one.repository}
    near = get_close_matches(source[:MOST_LIKE].lower(), keys, n=2 * NEAR, cutoff=LIKE)
    return ", ".join([*dict.fromkeys(keys[name] for name in near)][:NEAR]) or "deepseek-v3"


def _local(path: Path) -> dict[str, Any]:
    if path.is_dir():
        return config_of(LocalFiles(path))
    return parse_json(at_most(path, path.name, MOST_CONFIG_BYTES), path.name)
