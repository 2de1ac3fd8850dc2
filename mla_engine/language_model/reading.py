"""A text read layer by layer: what passes between the layers, all heads' maps, the next words.

A whole `ModelTrace` of a real model is large; a `Reading` keeps what enters each layer, and
`layer_of` computes the trace of one again from that. Both take any LanguageModel.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kvcount.refusals import Phrase
from mla_engine import budget, tree
from mla_engine.language_model.model import BlockTrace, LanguageModel
from mla_engine.layer import AttentionLayer
from mla_engine.ops import softmax
from mla_engine.trace import Trace

__all__ = ["Reading", "by_turns", "check_held", "layer_of", "read"]

VECTORS, WIDE, MAPS = 16, 4, 3  # a layer's trace, an estimate: rows of d and f a token, maps a head


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """A model's output for texts, without the insides of its layers."""

    tokens: Tensor  # int64 [b,t]
    x: Tensor  # [layers,b,t,d], the residual stream as it comes into each layer
    attention: Tensor  # [layers,b,h,t,s]
    logits: Tensor  # [b,t,n]

    def probabilities(self, temperature: float = 1.0) -> Tensor:
        """Return the probability of every next word, softmax(logits / temperature) [b,t,n]."""
        return softmax(self.logits / temperature)


tree.register(Reading, lambda read: (vars(read), None), lambda parts, _: Reading(**parts))


@torch.no_grad()
def read(model: LanguageModel, tokens: Tensor) -> Reading:
    """Run texts and keep what passes between the layers, their maps and the logits.

    Args:
        model: of any mechanism.
        tokens: int64 [b,t].

    Raises:
        ValueError: tokens that are none of the vocabulary.
        MemoryBudgetError: what is kept, or a layer, is beyond the memory budget.
    """
    model._check(tokens)
    check_held(model, tokens)
    x, maps = [], []
    for trace in by_turns(model, tokens):
        x.append(trace.x)
        maps.append(trace.attention.attention)
    logits = model._output(trace.x_out)[1]
    return Reading(tokens=tokens, x=torch.stack(x), attention=torch.stack(maps), logits=logits)


@torch.no_grad()
def layer_of(model: LanguageModel, reading: Reading, layer: int) -> BlockTrace:
    """Return every intermediate of one layer in a text that was read."""
    return model.blocks[layer](reading.x[layer], _attend(model))


@torch.no_grad()
def by_turns(model: LanguageModel, tokens: Tensor) -> Iterator[BlockTrace]:
    """Yield the trace of each layer; of those before it nothing is held."""
    x = model.W_E[tokens]
    for block in model.blocks:
        trace = block(x, _attend(model))
        x = trace.x_out
        yield trace


def _attend(model: LanguageModel) -> Callable[[AttentionLayer, Tensor], Trace]:
    return model.mechanism.forms[0].forward


def check_held(model: LanguageModel, tokens: Tensor, whole: int = 1) -> None:
    """Raise MemoryBudgetError if a run would keep too much of a text, before anything is computed.

    Args:
        model: of any mechanism.
        tokens: int64 [b,t].
        whole: layers whose traces are held whole at once.
    """
    (batch, length), config = tokens.shape, model.config
    maps = config.attention.n_heads * length**2
    row = VECTORS * config.d_model + WIDE * config.d_mlp
    kept = config.n_layers * (length * config.d_model + maps) + 2 * length * len(config.words)
    numbers = batch * (kept + whole * (length * row + MAPS * maps))
    what = Phrase("reading_of", tokens=length)
    budget.require(numbers * model.W_E.itemsize, what, Phrase("fewer_tokens"))
