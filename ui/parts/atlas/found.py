"""All heads of a real model: their small maps and scores on a text, and their names.

The app's own model is held whole, and so it reads fresh texts of random tokens, too: its heads are
named by what they do there. Of any other model a head is named by what it does on the text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mla_engine import figures
from mla_engine.language_model.heads import HeadScores
from mla_engine.language_model.text_heads import scores
from ui.engine import queue, shared_cache
from ui.engine.device import DEVICE
from ui.parts.pieces import blocks
from ui.sources import Checkpoint, checkpoint, whole

Part = tuple[HeadScores, np.ndarray, np.ndarray]  # of one layer: scores, small maps, cells


@dataclass(frozen=True, eq=False)
class Found:
    """All heads of the first layers of a model.

    Args:
        maps: of a text, as small as an atlas has room for [layers,h,rows,columns].
        here: the scores on that text.
        fresh: those on fresh texts of random tokens, None where they were not read.
        tokens: of the text.
        cells: query and key of each head's strongest look at an earlier token, but for the text's
            first one, at which all rest [layers,h,2].
    """

    maps: np.ndarray
    here: HeadScores
    fresh: HeadScores | None
    tokens: int
    cells: np.ndarray

    @cached_property
    def names(self) -> tuple[tuple[str | None, ...], ...]:
        """The kind that each head of a layer is named after, if any."""
        return (self.fresh or self.here).names()

    @property
    def shape(self) -> tuple[int, int]:
        """Layers, and heads of each."""
        return self.here.table.shape[:2]

    def named(self, kind: str) -> list[tuple[int, int]]:
        """Return layer and head of those that are named after a kind."""
        rows = enumerate(self.names)
        return [(layer, head) for layer, row in rows for head, one in enumerate(row) if one == kind]

    def table(self, kind: str) -> np.ndarray:
        """Return the scores of a kind on the text [layers,h]."""
        return self.here.table[..., self.here.kinds.index(kind)].numpy()


def joined(first: Checkpoint, every: Sequence[Part]) -> Found:
    """Return what the heads of the first layers do, from what was read of each."""
    fresh = None
    if own := whole.held(checkpoint.place(first).folder):
        fresh = whole.fresh_scores(own)
    scored, maps, cells = zip(*every, strict=True)
    here = replace(scored[0], table=torch.cat([one.table for one in scored]))
    tokens = len(checkpoint.inputs(first).tokens)
    return Found(np.stack(maps), here, fresh, tokens, np.stack(cells))


def parts(first: Checkpoint, n_layers: int) -> Iterator[tuple[Part, float]]:
    """Yield layer after layer, with the share that is done; each is kept.

    Raises:
        CheckpointError, MemoryBudgetError, FullError: as `checkpoint.inputs`.
    """
    inputs = checkpoint.inputs_of_layers(first, n_layers)
    for layer in range(n_layers):
        one = replace(first, layer=layer)
        yield _scored(one, inputs[layer], n_layers), (layer + 1) / n_layers


@shared_cache.cached(key=lambda loaded, _, n_layers: (loaded, n_layers))
def _scored(loaded: Checkpoint, h: Tensor, n_layers: int) -> Part:
    """Return what one layer's heads do on the text.

    They are computed some heads at a time.
    """
    config, maps = checkpoint.plan(loaded).config, []
    for heads in blocks(config, h.shape[1]):
        layer = loaded.attention(config, heads, torch.float32)
        with queue.turn(), torch.inference_mode():
            maps.append(layer(h.to(DEVICE)).attention.cpu())
    ids = torch.tensor(checkpoint.inputs(replace(loaded, layer=0)).ids)
    every = torch.cat(maps, dim=1)
    small = figures.small_maps(every[0].numpy(), n_layers * config.n_heads)
    return scores(ids[None], [every]), small, _strongest(every[0].numpy())


def _strongest(maps: np.ndarray) -> np.ndarray:
    """Return query and key of each head's strongest look at an earlier token but the first."""
    looks = np.tril(maps, -1)
    looks[..., 0] = 0
    best = looks.reshape(len(maps), -1).argmax(1)
    return np.stack(np.divmod(best, maps.shape[-1]), axis=1)
