"""A model with a part taken away, and which of its answers break.

A cut gives another model; the first one stays as it is. What is cut only from the scores leaves
the values: a head still sends on what it looks at, only that it looks elsewhere.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor, einsum

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine import mechanisms
from mla_engine.language_model.accuracy import accuracies, run_of
from mla_engine.language_model.model import LanguageModel, ModelTrace
from mla_engine.language_model.texts import Text, mixed
from mla_engine.latent import LatentConfig
from mla_engine.layer import AttentionLayer
from mla_engine.ops import highest, softmax
from mla_engine.trace import Trace

__all__ = [
    "Change",
    "TopKeys",
    "effect",
    "measured",
    "strongest_directions",
    "within",
    "without_content",
    "without_heads",
    "without_minor_directions",
    "without_rotary_key",
]


def without_heads(model: LanguageModel, layer: int, heads: Sequence[int]) -> LanguageModel:
    """Return the model some of whose heads write nothing, all of one layer.

    Raises:
        ValueError: a layer or a head that there is not.
    """
    checks.whole("layer", layer, least=0, most=model.config.n_layers - 1)
    for head in heads:
        checks.whole("head", head, least=0, most=model.config.attention.n_heads - 1)
    cut = deepcopy(model)
    with torch.no_grad():
        cut.blocks[layer].attention.W_O[:, list(heads)] = 0
    return cut


def without_content(model: LanguageModel) -> LanguageModel:
    """Return the model whose scores are only position: W_UQ is zero, and so scores_C; values stay.

    Raises:
        ValueError: a model without latents.
    """
    return _changed(model, lambda layer: layer.W_UQ.zero_())


def without_rotary_key(model: LanguageModel) -> LanguageModel:
    """Return the model whose scores are only content: W_QR is zero, and so scores_R.

    Raises:
        ValueError: a model without latents, or without a rotary key.
    """
    _check_latents(model)
    if not model.config.attention.d_rope:
        raise RefusedError("no_rotary_key")
    return _changed(model, lambda layer: layer.W_QR.zero_())


def measured(count: int = 64, seed: int = 0) -> list[Text]:
    """Return fresh texts of all tasks, to measure latents on."""
    return [mixed(Random(f"{seed}/{i}")) for i in range(count)]


def without_minor_directions(
    model: LanguageModel, rank: int, texts: Sequence[Text] | None = None
) -> LanguageModel:
    """Return the model that reads of each latent c_KV [c] only its `rank` strongest directions.

    W_UK and W_UV are multiplied by the projection on them. So keys and values lose the least of
    their squared length in the latent. Nothing is lost at rank d_latent_kv.

    Args:
        model: with latents.
        rank: directions that are left.
        texts: to measure on, `measured` ones by default.

    Raises:
        ValueError: a model without latents, a rank below 1 or above d_latent_kv.
    """
    _check_rank(model, rank)
    return within(model, strongest_directions(model, texts), rank)


@torch.no_grad()
def strongest_directions(
    model: LanguageModel, texts: Sequence[Text] | None = None
) -> tuple[Tensor, ...]:
    """Return the directions of each latent, the strongest last, as columns of [c,c], float64.

    They are the eigenvectors of the mean of c_KV c_KV^T over the words of some texts, as the uncut
    model has them.

    Raises:
        ValueError: a model without latents.
    """
    _check_latents(model)
    trace, words = run_of(model, measured() if texts is None else texts)
    latents = [block.attention.c_KV[words].double() for block in trace.blocks]
    return tuple(torch.linalg.eigh(einsum("nc,nd->cd", c, c)).eigenvectors for c in latents)


@torch.no_grad()
def within(model: LanguageModel, directions: Sequence[Tensor], rank: int) -> LanguageModel:
    """Return the model that reads of its latents only the last `rank` of these directions.

    Raises:
        ValueError: a model without latents, a rank below 1 or above d_latent_kv.
    """
    _check_rank(model, rank)
    cut = deepcopy(model)
    for block, strongest in zip(cut.blocks, directions, strict=True):
        lost = strongest[:, :-rank]
        kept = torch.eye(len(lost), dtype=lost.dtype) - lost @ lost.T  # exactly 1 if none is lost
        for weight in (block.attention.W_UK, block.attention.W_UV):
            weight.copy_(weight.double() @ kept)
    return cut


class TopKeys(LanguageModel):
    """A model whose queries keep their `keys` keys of highest score in each head, and no other.

    The attention is the softmax over them. It has the first model's weights themselves. In its
    traces scores and mask are as they are before the choice; attention, o and u come after it.

    Raises:
        ValueError: no key at all; an attention that reads more than keys.
    """

    def __init__(self, model: LanguageModel, keys: int) -> None:
        super(LanguageModel, self).__init__()  # no weights of its own
        checks.whole("keys", keys)
        if model.mechanism.forms[0].weighed is None:
            raise RefusedError("cut_needs_keys", called=model.mechanism.called)
        self.config, self.mechanism, self.keys = model.config, model.mechanism, keys
        self.W_E, self.blocks, self.norm = model.W_E, model.blocks, model.norm

    def logits(self, tokens: Tensor) -> Tensor:
        """Return the logits of the next word [b,t,n]; torch's own attention has no such choice."""
        return self(tokens).logits

    def attended(self, layer: AttentionLayer, h: Tensor) -> Tensor:
        """Return u [b,t,d] of a layer, which reads h."""
        return self._chosen(layer, self.mechanism.forms[0].forward(layer, h)).u

    def _traced(
        self, tokens: Tensor, attend: Callable[[AttentionLayer, Tensor], Trace]
    ) -> ModelTrace:
        return super()._traced(tokens, lambda layer, h: self._chosen(layer, attend(layer, h)))

    def _chosen(self, layer: AttentionLayer, trace: Trace) -> Trace:
        left_out = ~highest(trace.scores, self.keys)
        attention = softmax(trace.scores.masked_fill(left_out, -torch.inf))
        return self.mechanism.form_of(trace).weighed(layer, trace, attention)


class Change(NamedTuple):
    """The share of right answers of a task, the mean over its loads, before and after a cut."""

    before: float
    after: float


def effect(
    model: LanguageModel, cut: LanguageModel, count: int = 32, seed: int = 0
) -> dict[str, Change]:
    """Return task -> its answers before and after a cut, over `count` fresh texts of each load.

    Raises:
        ValueError: a count below 1.
    """
    checks.whole("count", count)
    before, after = accuracies(model, count, seed), accuracies(cut, count, seed)
    return {
        task: Change(fmean(loads.values()), fmean(after[task].values()))
        for task, loads in before.items()
    }


def _check_rank(model: LanguageModel, rank: int) -> None:
    _check_latents(model)
    checks.whole("rank", rank, most=model.config.attention.d_latent_kv)


def _check_latents(model: LanguageModel) -> None:
    attention = model.config.attention
    if not isinstance(attention, LatentConfig):
        raise RefusedError("cut_needs_latents", called=mechanisms.of(attention).called)


@torch.no_grad()
def _changed(model: LanguageModel, change: Callable[[AttentionLayer], object]) -> LanguageModel:
    """Return a copy whose layers were changed."""
    _check_latents(model)
    cut = deepcopy(model)
    for block in cut.blocks:
        change(block.attention)
    return cut
