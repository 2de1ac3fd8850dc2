"""The points that are measured: a way to a smaller cache, its size, and what it was fitted to.

The texts are random pieces of each part, none twice, always the same ones: the first of them are
the ones of a shorter measurement.
"""

from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from mla_engine.language_model.moments import WEIGHINGS
from mla_engine.language_model.real import RealModel
from training.real.texts import DOCUMENTATION, NOVELS, texts

KINDS = (NOVELS, DOCUMENTATION)
PIECE = 512  # tokens, read by themselves; the first is given, the others are asked
MEASURED, CALIBRATED = 20, 12  # pieces of each kind
WHOLE = 384  # numbers that SmolLM2-135M caches a token and layer
SIZES = (256, 192, 128, 96, 64, 32)
ROTARY = 64  # numbers of the absorbable way's rotary key
WEIGHING = "read"  # the best of them: a word counts by the attention that it gets


@dataclass(frozen=True)
class Point:
    """One model that is measured.

    Attributes:
        way: "whole", "latent" (one latent, rotated after it), "weights" (the same by the weights
            alone), "averaged" (one KV head, the mean), "absorbable" (a latent and a rotary key).
        cached: numbers a token and layer.
        fitted_to: the kinds of text.
        weighing: of their words, `language_model.moments`.
    """

    way: str
    cached: int
    fitted_to: tuple[str, ...] = ()
    weighing: str = ""

    @property
    def name(self) -> str:
        """A name for its file."""
        return "-".join((self.way, str(self.cached), *self.fitted_to, self.weighing)).strip("-")


def points() -> list[Point]:
    """Return every point, the most telling first."""
    fits = [
        Point("whole", WHOLE),
        Point("averaged", 2 * ROTARY),
        *(Point("latent", size, KINDS, WEIGHING) for size in (128, 192)),
        *(Point("absorbable", size, KINDS, WEIGHING) for size in (192, 128)),
        *(Point("weights", size) for size in (192, 128)),
        *(Point("latent", 128, (kind,), WEIGHING) for kind in KINDS),
        *(Point("latent", 128, KINDS, other) for other in WEIGHINGS if other != WEIGHING),
        *(Point("latent", size, KINDS, WEIGHING) for size in SIZES),
        *(Point("weights", size) for size in SIZES),
        *(Point("absorbable", size, KINDS, WEIGHING) for size in (WHOLE, 256, 96)),
        *(Point("latent", 192, (kind,), WEIGHING) for kind in KINDS),
    ]
    return list(dict.fromkeys(fits))


def pieces(model: RealModel, part: str, kind: str, count: int) -> Tensor:
    """Return random pieces of a text, int64 [count,PIECE].

    Raises:
        ValueError: it has fewer.
    """
    ids = model.config.tokenizer.encode(texts(part)[kind], add_special_tokens=False).ids
    every = torch.tensor(ids[: len(ids) // PIECE * PIECE]).view(-1, PIECE)
    order = Random(0).sample(range(len(every)), len(every))
    if count > len(every):
        raise ValueError(f"{part}, {kind}: {len(every)} pieces, {count} wanted")
    return every[order[:count]]
