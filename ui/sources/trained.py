"""The models trained in this project: where they lie, what one makes of a text, its layers.

`make train` writes the files, and a newer file is read again. Each variant was trained by itself,
so another variant is another model; but DSA is MLA with an indexer. Pages whose pictures are of
values begin with them; whoever chooses sizes, a seed or a text of any words has drawn weights.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from mla_engine import costs, mechanisms
from mla_engine.checkpoints import CheckpointError
from mla_engine.config import AttentionConfig
from mla_engine.heads import with_heads
from mla_engine.language_model import (
    LanguageModel,
    ModelConfig,
    ModelTrace,
    WordError,
    generate,
    load_model,
)
from mla_engine.language_model import heads as head_kinds
from mla_engine.layer import AttentionLayer
from ui import ROOT
from ui.engine import queue, shared_cache
from ui.engine.device import DEVICE
from ui.settings import state
from ui.settings.parsers import MOST_CHARACTERS, MOST_WORDS, TRAINED
from ui.settings.shared import SIZES
from ui.settings.visit import once_per_run, visit

NAMED = "assets/trained"  # where the project has them
FOLDER = ROOT / NAMED
COMMAND = "make train"
OWN = "anna lamp ben cup cleo drum dan boat anna"  # the first sentence: what belongs to anna?
Key = tuple[str, Path, int]
FIRST = "mla"  # the variant whose sizes are named
DRAWN_ALONE = (*SIZES, "seed", "map_text", "map_generated")  # what no trained model goes with
SCORE_TEXTS, SCORE_SEED = 6, 2 * 10**6  # of each load; texts that no training has seen
VARIANTS = ("mha", "gqa", "dsa", "mqa", "mla", "mla_nope")  # from the largest cache on


@dataclass(frozen=True, eq=False)
class TrainedModel:
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


@dataclass(frozen=True)
class Trained:
    """One attention layer of a trained model.

    Args:
        code: the variant.
        layer: counted from 0.
        written: when its file was, so that a newer one is read again.
    """

    code: str
    layer: int
    written: int

    @property
    def weights(self) -> "Trained":
        """Return what the weights depend on: the layer itself."""
        return self

    def attention(
        self, config: AttentionConfig, heads: tuple[int, ...] | None, dtype: torch.dtype
    ) -> AttentionLayer:
        """Return the layer with its weights, in a configuration alike, or these heads of it."""
        whole = load(self.code).model.blocks[self.layer].attention
        return with_heads(whole, heads, config, dtype, DEVICE)

    def hidden(self, words: Sequence[str], _d_model: int) -> torch.Tensor:
        """Return what enters the layer when its model reads these words, h [1,t,d].

        Raises:
            WordError: words that it does not know.
        """
        model = load(self.code)
        tokens = tuple(model.config.tokens(" ".join(words)))
        return run(model, tokens).blocks[self.layer].attention.h.to(DEVICE)


def present() -> tuple[str, ...]:
    """Return the variants that there is a model of."""
    return tuple(code for code in VARIANTS if file(code).is_file())


@once_per_run
def readable() -> Mapping[str, TrainedModel]:
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


def load(code: str) -> TrainedModel:
    """Return the model of a variant.

    Raises:
        CheckpointError: there is none, or its file is damaged.
    """
    path = file(code)
    if not path.is_file():
        raise CheckpointError("not_trained", name=path.name, command=COMMAND)
    return _loaded(code, path, path.stat().st_mtime_ns)


@shared_cache.cached
def _loaded(code: str, path: Path, written: int) -> TrainedModel:
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return TrainedModel((code, path, written), *load_model(path))


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


def run(trained: TrainedModel, tokens: tuple[int, ...]) -> ModelTrace:
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


def chosen() -> Trained | None:
    """Return the layer that stands in for sizes and seed, of the first variant; None for none."""
    s = state.settings()
    if not visit().page.trained or s["preset"] != TRAINED or FIRST not in readable():
        return None
    usual = state.defaults()
    plain = all(s[name] == usual[name] for name in DRAWN_ALONE)
    if not plain or lacking():
        return None
    return Trained(FIRST, s["trained_layer"], readable()[FIRST].written)


def lacking() -> bool:
    """Tell whether the page has the variant that is set, but none of its kind is ever trained.

    Our own small sizes stand there then, with weights that are drawn, until sizes are chosen.
    """
    s, page = state.settings(), visit().page
    if not page.trained or s["preset"] != TRAINED or s["variant"] not in page.variants:
        return False
    usual = state.defaults()
    if FIRST not in readable() or any(s[name] != usual[name] for name in SIZES):
        return False
    return never(s["variant"])


def never(variant: str) -> bool:
    """Tell whether no model of a variant's kind is trained in this project."""
    every = mechanisms.variants()
    kinds = {every[code].kind for code in VARIANTS if code in every}
    return every[variant].kind not in kinds


def named_config() -> AttentionConfig:
    """Return the configuration of the layers whose sizes are named."""
    return load(FIRST).config.attention


def named_sizes() -> dict[str, int]:
    """Return the sizes of all variants together."""
    found = mechanisms.sizes_of(named_config())
    if model := readable().get("gqa"):
        found["n_kv_heads"] = mechanisms.sizes_of(model.config.attention)["n_kv_heads"]
    return found


def of(wanted: AttentionConfig, layer: int, free: Sequence[str]) -> Trained | None:
    """Return the trained layer of a configuration, whatever the fields in `free` say, or None."""
    for code, model in readable().items():
        if wanted.is_same(model.config.attention, but=free):
            return Trained(code, layer, model.written)
    return None


def sentence() -> tuple[str, ...]:
    """Return the words of the reader's sentence, or of the one that the app begins with."""
    return tuple((state.settings()["sentence"] or OWN).lower().split())


@shared_cache.cached(anywhere=True)
def head_scores(source: Trained, kind: str) -> tuple[float, ...]:
    """Return how much attention each head of the layer gives to such a place in fresh texts."""
    model = load(source.code).model
    with queue.turn(), torch.inference_mode():
        found = head_kinds.head_scores(model, SCORE_TEXTS, SCORE_SEED, (kind,))
        return tuple(found.table[source.layer, :, 0].tolist())


@cache
def score_texts(kind: str) -> int:
    """Return how many texts a score is the mean over."""
    return sum(map(len, head_kinds.SCORES[kind].texts(SCORE_TEXTS, SCORE_SEED)))
