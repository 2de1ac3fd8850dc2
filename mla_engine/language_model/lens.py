"""The residual stream read after each layer as if it were the last: the logit lens.

Nostalgebraist, "interpreting GPT: the logit lens" (2020); Belrose et al., arXiv 2303.08112, who
say how far to trust it: only after the last layer is it what the model says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kvcount import checks
from mla_engine import tree
from mla_engine.language_model.model import LanguageModel
from mla_engine.language_model.reading import Reading
from mla_engine.ops import softmax

__all__ = ["Guesses", "guesses", "read_out", "shares_after"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """The likeliest next words by a reading of the stream.

    Attributes:
        tokens: int64 [layers,places], the likeliest ones.
        shares: [layers,places], their probabilities.
    """

    tokens: Tensor
    shares: Tensor


tree.register(Guesses, lambda found: (vars(found), None), lambda parts, _: Guesses(**parts))


@torch.no_grad()
def read_out(
    model: LanguageModel,
    reading: Reading,
    after: Sequence[int],
    places: Sequence[int],
    temperature: float = 1.0,
) -> Tensor:
    """Return probabilities of the next word [layers,places,n] from the stream after some layers.

    Args:
        model: that read the text.
        reading: of one text; of several the first is taken.
        after: how many layers the stream has passed, each; all of them give what the model says.
        places: of tokens in the text.
        temperature: of the softmax.

    Raises:
        ValueError: more layers than there are, or fewer than none.
    """
    last, places = model.config.n_layers, list(places)
    for layers in after:
        checks.whole("after", layers, least=0, most=last)
    early = [layers for layers in after if layers < last]
    logits = iter(model._output(reading.x[early, 0][:, places])[1] if early else ())
    said = reading.logits[0, places]
    return softmax(torch.stack([said if n == last else next(logits) for n in after]) / temperature)


def guesses(
    model: LanguageModel,
    reading: Reading,
    after: Sequence[int],
    places: Sequence[int],
    temperature: float = 1.0,
) -> Guesses:
    """Return the likeliest next word after some layers, at some places; arguments as `read_out`."""
    shares, tokens = read_out(model, reading, after, places, temperature).max(-1)
    return Guesses(tokens=tokens, shares=shares)


def shares_after(
    model: LanguageModel,
    reading: Reading,
    place: int,
    tokens: Sequence[int],
    temperature: float = 1.0,
) -> Tensor:
    """Return the probabilities of some next words at one place [layers + 1, words], by `read_out`.

    The first row is of the embedding, the last of the model's output.
    """
    every = range(model.config.n_layers + 1)
    return read_out(model, reading, every, [place], temperature)[:, 0, list(tokens)]
