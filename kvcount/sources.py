"""The sources of a config.json: a stored model, a file, a folder, standard input, or the Hub."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from kvcount.dtypes import Storage, stored_by
from kvcount.files.config_json import config_of, parse_json, with_beside
from kvcount.files.folder import (
    CONFIG,
    MOST_CONFIG_BYTES,
    REPOSITORY,
    Files,
    LocalFiles,
    at_most,
    existing,
)
from kvcount.files.local import is_gguf, local_files
from kvcount.files.repository import repository_files
from kvcount.files.stored_weights import Stored, stored
from kvcount.models import MODELS, Published, named
from kvcount.parts import Model
from kvcount.reading.keys import UncountedError
from kvcount.reading.read import read

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
        rounded: whether these are what a name or a text says, and not a count.
        active: of them, those that a token is multiplied with, None likewise, and where all are.
        routed: of them, those of experts that layers choose among, None where nobody counted.
        stored: its weights as files keep them, None where there are none.
        storage: the types in which its publisher stores the cache.
    """

    name: str
    model: Model
    parameters: int | None = None
    active: int | None = None
    rounded: bool = False
    routed: int | None = None
    stored: Stored | None = None
    storage: Storage = BF16

    def with_stored(self, weights: Stored | None) -> "Found":
        """Return the same with the weights that lie beside its config.json, None for none."""
        if weights is None:
            return self
        said = {"parameters": weights.parameters, "routed": weights.routed}
        return replace(self, stored=weights, **said)

    def stored_types(self, parameters: float | None = None) -> dict[str, Any]:
        """Return a plan's arguments on types as its files have them; none without files.

        Args:
            parameters: of the whole model, where its own count is not taken.
        """
        whole = parameters or self.parameters
        if self.stored is None or whole is None:
            return {}
        return {"weight_bytes": self.stored.n_bytes / whole, "weight_bits": self.stored.bits}

    def weights(self, parameters: float | None, active: float | None) -> dict[str, Any]:
        """Return a plan's arguments on weights: its own counts where none are given.

        Raises:
            UncountedError: nobody says how many parameters it has.
        """
        whole = self.parameters if parameters is None else parameters
        if whole is None:
            raise UncountedError("no_parameters", name=self.name)
        own = self.active if self.active and self.active < whole else None
        return {
            "parameters": whole,
            "active": own if active is None else active,
            "routed_parameters": self.routed if parameters is None and active is None else None,
            "rounded": self.rounded and parameters is None,
        }


def find(source: str, revision: str | None = None, *, weighed: bool = False) -> Found:
    """The model that `source` names: the first of "-", a file, a folder, a stored name, the Hub.

    Args:
        source: a name.
        revision: of a repository.
        weighed: whether the weights beside a config.json are looked at, too.

    Raises:
        RefusedError: nothing of that name, no config.json, one that is not understood.
    """
    if source == "-":
        return of_text(sys.stdin.buffer.read(MOST_CONFIG_BYTES + 1))
    name = source.strip()
    if (path := existing(source) or existing(name)) is not None:
        if not path.is_dir() and not is_gguf(path):
            config = parse_json(at_most(path, path.name, MOST_CONFIG_BYTES), path.name)
            if path.name == CONFIG:
                config = with_beside(config, LocalFiles(path.parent))
            return of_config(source, config)
        return _of_files(source, local_files(path), weighed=weighed)
    if (known := named(source)) is not None:
        return of_published(known)
    if not REPOSITORY.fullmatch(name):
        raise no_source(source)
    return _of_files(name, repository_files(name, revision), weighed=weighed)


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
    said = {"active": known.active, "rounded": known.rounded, "routed": known.routed}
    return Found(known.name, known.model(), known.parameters, **said, storage=stored)


def no_source(source: str) -> UncountedError:
    """Return the refusal of a name that nothing has, with the stored ones that come nearest."""
    return UncountedError("no_source", source=source, near=_near(source), n=len(MODELS))


def _near(source: str) -> str:
    """Return the keys of models or of their repositories with a similar name."""
    keys = {key: key for key in MODELS}
    keys |= {one.repository.lower(): key for key, one in MODELS.items() if one.repository}
    near = get_close_matches(source[:MOST_LIKE].lower(), keys, n=2 * NEAR, cutoff=LIKE)
    return ", ".join([*dict.fromkeys(keys[name] for name in near)][:NEAR]) or "deepseek-v3"


def _of_files(name: str, files: Files, *, weighed: bool) -> Found:
    """Return the model of a folder or a repository, with the weights that it stores."""
    found = of_config(name, config := with_beside(config_of(files), files))
    return found.with_stored(stored(files, config)) if weighed else found
