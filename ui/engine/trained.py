"""The trained models: where they lie, which are there, and what one makes of a text.

Everything else asks here: `make train` writes the files, and a newer file is read again.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mla_engine import costs
from mla_engine.checkpoints import CheckpointError
from mla_engine.language_model import (
    LanguageModel,
    ModelConfig,
    ModelTrace,
    WordError,
    generate,
    load_model,
)
from ui import ROOT
from ui.engine import queue, shared_cache
from ui.settings.parsers import MOST_CHARACTERS, MOST_WORDS
from ui.settings.visit import once_per_run

NAMED = "assets/trained"  # where the project has them
FOLDER = ROOT / NAMED
COMMAND = "make train"
OWN = "anna lamp ben cup cleo drum dan boat anna"  # the first sentence: what belongs to anna?
Key = tuple[str, Path, int]
VARIANTS = ("mha", "gqa", "dsa", "mqa", "mla", "mla_nope")  # from the largest cache on


@dataclass(frozen=True, eq=False)
class Trained:
    """A model that was trained.

    Args:
        key: of its file as it was read: the variant, the path, when it was written.
        model: in float32, without gradients.
        card: what its training reports.
    """

    key: Key
    model: LanguageModel
    card: Mapping[str, Any]

    @property
    def code(self) -> str:
        """The variant."""
        return self.key[0]

    @property
    def written(self) -> int:
        """When its file was."""
        return self.key[2]

    @property
    def config(self) -> ModelConfig:
        """Its words and sizes."""
        return self.model.config

    @property
    def cached(self) -> int:
        """Numbers that a layer keeps of a token."""
        return costs.cache_elements(self.config.attention)


def present() -> tuple[str, ...]:
    """Return the variants that there is a model of."""
    return tuple(code for code in VARIANTS if file(code).is_file())


@once_per_run
def readable() -> Mapping[str, Trained]:
    """Return the models of all variants, but for those whose file is damaged."""
    found = {}
    for code in present():
        with suppress(CheckpointError):
            found[code] = load(code)
    return found


def cached() -> dict[str, int]:
    """Return how many numbers a layer keeps of a token, for each variant that can be read."""
    return {code: model.cached for code, model in readable().items()}


def file(code: str) -> Path:
    """Return the file of a variant's model."""
    return FOLDER / f"{code}.safetensors"


def load(code: str) -> Trained:
    """Return the model of a variant.

    Raises:
        CheckpointError: there is none, or its file is damaged.
    """
    path = file(code)
    if not path.is_file():
        raise CheckpointError("not_trained", name=path.name, command=COMMAND)
    return _loaded(code, path, path.stat().st_mtime_ns)


@shared_cache.cached
def _loaded(code: str, path: Path, written: int) -> Trained:
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return Trained((code, path, written), *load_model(path))


def tokens(config: ModelConfig, text: str) -> tuple[int, ...]:
    """Return the numbers of the words of a text, of the app's own where it is empty.

    Raises:
        WordError: no words, too many of them, or words that the model does not know.
    """
    if len(text) > MOST_CHARACTERS:
        raise WordError("too_long", given=len(text), most=MOST_CHARACTERS)
    if (given := len(text.split())) > MOST_WORDS:
        raise WordError("too_many", given=given, most=MOST_WORDS)
    return tuple(config.tokens(text or OWN))


def run(trained: Trained, tokens: tuple[int, ...]) -> ModelTrace:
    """Return every intermediate of a text; it is computed in a turn of the queue.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    found = _run.peek(trained.key, tokens)
    if found is None:
        with queue.turn():  # before the key is locked: nobody waits in his turn for one who waits
            found = _run(trained.key, tokens)
    return found


def _batch(wanted: list[tuple[Key, tuple[int, ...]]]) -> list[ModelTrace]:
    """Run several texts: those of one model and length go through it at once.

    The numbers are those of single runs but for the rounding of float32 in longer products.
    """
    alike = defaultdict(list)
    for place, (key, tokens) in enumerate(wanted):
        alike[key, len(tokens)].append(place)
    found = {}
    with queue.turn(), torch.inference_mode():
        for (key, _), places in alike.items():
            trace = _loaded(*key).model(torch.tensor([wanted[place][1] for place in places]))
            found |= {place: trace.of_text(row) for row, place in enumerate(places)}
    return [found[place] for place in range(len(wanted))]


@shared_cache.cached(anywhere=True, batch=_batch)
def _run(key: Key, tokens: tuple[int, ...]) -> ModelTrace:
    with torch.inference_mode():
        return _loaded(*key).model(torch.tensor([tokens]))


@shared_cache.cached(anywhere=True)
def written(key: Key, tokens: tuple[int, ...], count: int) -> tuple[str, ...]:
    """Return the words that a model writes after a text, the likeliest ones, by its cache.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    model = _loaded(*key).model
    with queue.turn():
        chosen = [int(step.token) for step in generate(model, torch.tensor([tokens]), count)]
    return tuple(model.config.words[token] for token in chosen)
