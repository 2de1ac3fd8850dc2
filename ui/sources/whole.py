"""The small real models, whole and once in this process, and what they make of a text.

They were made here from a file whose hash is known, and so they are read in this process; what
belongs to others is read by workers. All that is computed waits for its turn and lies in the shared
cache. Where no key is given it is the model as it was trained that reads, not the one with MLA.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

import torch

from mla_engine import budget
from mla_engine.checkpoints import CheckpointError, HiddenStates
from mla_engine.checkpoints.tokens import Tokens, cut
from mla_engine.heads import with_heads
from mla_engine.language_model import BlockTrace, generate, lens
from mla_engine.language_model.heads import HeadScores
from mla_engine.language_model.lens import Guesses
from mla_engine.language_model.reading import Reading, by_turns, layer_of, read
from mla_engine.language_model.real import RealModel, load_real
from mla_engine.language_model.text_heads import repeat_scores, sentence_scores
from mla_engine.layer import AttentionLayer
from ui.engine import queue, shared_cache
from ui.engine.folders import inside
from ui.settings.visit import once_per_run
from ui.sources.small_model import AS_TRAINED, WITH_MLA

WEIGHTS = "*.safetensors"
WIDER = 2  # float32, in which it is held, against the float16 that is stored
ROOM = 1.2  # of memory, in times of the model: its largest part lies there twice while it is read
MOST_TOKENS = 256  # of a text that is read with all its maps
MOST_STREAMED = 512  # of one of which only what enters the layers is kept

Key = tuple[Path, int]  # its folder, and when its weights were written
Ids = tuple[int, ...]
P, R = ParamSpec("P"), TypeVar("R")


def key() -> Key | None:
    """Return the key of the real model; None where there is none, or no room to hold it whole."""
    return _key(AS_TRAINED.source())


@once_per_run
def _key(name: str) -> Key | None:
    room = min(shared_cache.cache().budget_bytes, budget.limit_bytes())
    if name:
        folder = inside(name)
        with suppress(OSError):
            if (stored := _stored(folder)) and ROOM * WIDER * stored <= room:
                return folder, max(file.stat().st_mtime_ns for file in folder.glob(WEIGHTS))
    return None


def _stored(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob(WEIGHTS))


def held(folder: Path | None) -> Key | None:
    """Return the key of the model in this folder; None of one that is not held here."""
    found = (key(), _key(WITH_MLA.source()))
    return next((own for own in found if own and own[0] == folder), None)


def model(own: Key | None = None) -> RealModel:
    """Return the model in float32; the first who asks waits some seconds until it is read.

    Raises:
        CheckpointError, FullError: its folder is damaged or away; the line is full.
    """
    return _in_turn(_model, own or key())


def tokens(text: str, most: int = MOST_TOKENS, own: Key | None = None) -> Tokens:
    """Return the pieces of a text, as the model's own tokenizer cuts it.

    Raises:
        CheckpointError: an empty text, or one of more pieces than `most`.
    """
    found = cut(model(own).config.tokenizer, text)
    if len(found.ids) > most:
        raise CheckpointError("text_tokens", given=len(found.ids), most=most)
    return found


def reading(ids: Ids, own: Key | None = None) -> Reading:
    """Return what passes between the layers, all maps, and the logits after every piece.

    Raises:
        FullError, MemoryBudgetError: in the engine's words.
    """
    return _in_turn(_reading, own or key(), ids)


def layer(ids: Ids, number: int) -> BlockTrace:
    """Return every intermediate of one layer in a text; errors as `reading`."""
    reading(ids)
    return _in_turn(_layer, key(), ids, number)


def inputs(own: Key, text: str, number: int) -> HiddenStates:
    """Return what enters the attention of a layer, as a worker reads it of any model.

    Raises:
        CheckpointError, MemoryBudgetError, FullError: as `tokens` and `reading`.
    """
    found = tokens(text, MOST_STREAMED, own)
    short = len(found.ids) <= MOST_TOKENS
    x = reading(found.ids, own).x if short else _in_turn(_stream, own, found.ids)
    return HiddenStates(
        h=model(own).blocks[number].before_attention(x[number]),
        ids=found.ids,
        tokens=found.tokens,
        positions=tuple(range(len(found.ids))),
        origin="prefix" if number else "embedding",
    )


def inputs_of_layers(own: Key, text: str, n_layers: int) -> Mapping[int, torch.Tensor]:
    """Return what enters the attention of each of the first layers; errors as `inputs`."""
    return {number: inputs(own, text, number).h for number in range(n_layers)}


def attention(
    own: Key,
    number: int,
    heads: tuple[int, ...] | None,
    dtype: torch.dtype,
    device: torch.device | str,
) -> AttentionLayer:
    """Return a layer's attention, or these heads of it, with the model's own weights.

    Raises:
        CheckpointError, FullError: as `model`.
    """
    return with_heads(model(own).blocks[number].attention, heads, None, dtype, device)


def guesses(ids: Ids, after: Ids, places: Ids, temperature: float) -> Guesses:
    """Return the likeliest next words as `lens.guesses` reads them; errors as `reading`."""
    reading(ids)
    return _in_turn(_guesses, key(), ids, after, places, temperature)


def shares_after(ids: Ids, place: int, words: Ids, temperature: float) -> torch.Tensor:
    """Return the probabilities of next words after each layer; errors as `reading`."""
    reading(ids)
    return _in_turn(_shares_after, key(), ids, place, words, temperature)


def scores(ids: Ids) -> HeadScores:
    """Return the scores of all heads in a text; errors as `reading`."""
    return sentence_scores(reading(ids))


def fresh_scores(own: Key) -> HeadScores:
    """Return the scores of all heads on fresh texts of random pieces, each said twice."""
    return _in_turn(_fresh_scores, own)


def written(
    ids: Ids,
    count: int,
    temperature: float = 0.0,
    seed: int = 0,
    progress: Callable[[int], object] = lambda _done: None,
) -> Ids:
    """Return the pieces that the model writes after a text, through its cache.

    Args:
        ids: of the text.
        count: pieces to write.
        temperature: 0 takes the likeliest.
        seed: of the draws.
        progress: called with how many are written; may raise to stop.

    Raises:
        FullError, MemoryBudgetError: in the engine's words.
    """
    model()
    return _written(key(), ids, count, temperature, seed, progress)


def _in_turn(work: Callable[P, R], *arguments: P.args) -> R:
    """Return a result of the shared cache; what is not there is made in a turn of the queue."""
    found = work.peek(*arguments)
    if found is None:
        with queue.turn():  # before the key is locked: nobody waits in his turn for one who waits
            found = work(*arguments)
    return found


@shared_cache.cached
def _model(own: Key) -> RealModel:
    shared_cache.evict_for(WIDER * _stored(own[0]))
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return load_real(own[0])


@shared_cache.cached
def _reading(own: Key, ids: Ids) -> Reading:
    return read(_model(own), torch.tensor([ids]))


@shared_cache.cached
def _stream(own: Key, ids: Ids) -> torch.Tensor:
    with torch.no_grad():
        return torch.stack([trace.x for trace in by_turns(_model(own), torch.tensor([ids]))])


@shared_cache.cached
def _layer(own: Key, ids: Ids, number: int) -> BlockTrace:
    return layer_of(_model(own), _reading(own, ids), number)


@shared_cache.cached
def _guesses(own: Key, ids: Ids, *given: object) -> Guesses:
    return lens.guesses(_model(own), _reading(own, ids), *given)


@shared_cache.cached
def _shares_after(own: Key, ids: Ids, *given: object) -> torch.Tensor:
    return lens.shares_after(_model(own), _reading(own, ids), *given)


@shared_cache.cached
def _fresh_scores(own: Key) -> HeadScores:
    return repeat_scores(_model(own))


@shared_cache.cached(key=lambda *given: given[:5])
def _written(
    own: Key, ids: Ids, count: int, temperature: float, seed: int, progress: Callable
) -> Ids:
    steps, found = generate(_model(own), torch.tensor([ids]), count, temperature, seed), []
    while len(found) < count:
        with queue.turn(whole=bool(found)):  # a piece is short, and to pause in it doubles its time
            found.append(int(next(steps).token))
        progress(len(found))
    return tuple(found)
