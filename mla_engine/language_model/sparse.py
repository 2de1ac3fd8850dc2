"""A model with a lightning indexer at any number of keys, and other rules to choose them by.

A rule gives every key a number for every query, and the highest are read; one choice for all heads,
as the indexer makes it. What each rule is worth shows in the answers that are still right.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine import mechanisms
from mla_engine.indexed import IndexedConfig, IndexedTrace
from mla_engine.indexed.costs import MOST
from mla_engine.indexed.forms import left_out
from mla_engine.indexed.indexer import choice
from mla_engine.language_model.model import LanguageModel, ModelTrace
from mla_engine.language_model.questions import Questions
from mla_engine.latent.trace import masked_sum
from mla_engine.layer import AttentionLayer
from mla_engine.ops import softmax
from mla_engine.trace import Trace

__all__ = [
    "ALL",
    "ASKED",
    "KEYS",
    "RULES",
    "SEED",
    "Answered",
    "Looks",
    "Sparse",
    "answered",
    "curves",
    "looks",
    "with_topk",
]

KEYS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of keys over which a model's answers are told."""

ALL = MOST
"""Keys: more than a text has."""

ASKED, SEED = 4, 2 * 10**6
"""Texts of each task and load, which no training has seen, and their seed."""

Rule = Callable[[IndexedTrace, torch.Generator], Tensor]
"""A rule's score of each key, [b,t,s] or what broadcasts to it: the highest are read."""


def _latest(trace: IndexedTrace, _: torch.Generator) -> Tensor:
    return torch.arange(trace.mask.shape[-1]).expand(trace.chosen.shape).float()


def _by_chance(trace: IndexedTrace, generator: torch.Generator) -> Tensor:
    return torch.rand(trace.chosen.shape, generator=generator)


RULES: Mapping[str, Rule] = {
    "heads": lambda trace, _: trace.attention.sum(1),
    "indexer": lambda trace, _: trace.index,
    "latest": _latest,
    "chance": _by_chance,
}
"""The rules by name.

heads: the attention that the dense layer gives a key, summed over the heads: what the indexer was
taught, and what none can know without reading every key.

indexer: the index score.

latest: the last keys, as a sliding window.

chance: keys drawn alike from all that the query sees.
"""


def with_topk(model: LanguageModel, keys: int) -> LanguageModel:
    """Return the model with the same weights whose indexers choose so many keys.

    Raises:
        ValueError: a model without indexers, no key at all.
    """
    attention = model.config.attention
    if not isinstance(attention, IndexedConfig):
        raise RefusedError("no_indexer", called=mechanisms.of(attention).called)
    config = replace(model.config, attention=replace(attention, index_topk=keys))
    made = LanguageModel(config, device="meta")
    made.load_state_dict(model.state_dict(), assign=True)
    return made.requires_grad_(False)


class Sparse(LanguageModel):
    """A model whose queries read `keys` keys that a rule chooses, the same ones in each head.

    It has the first model's weights themselves. In its traces all before the choice is of all keys;
    chosen, left_out, attention, o and u come after it.

    Raises:
        ValueError: a model without indexers, no key at all, a rule that there is not.
    """

    def __init__(self, model: LanguageModel, keys: int, rule: str = "indexer") -> None:
        super(LanguageModel, self).__init__()  # no weights of its own
        checks.whole("keys", keys)
        checks.choice("rule", rule, RULES)
        whole = with_topk(model, MOST)
        self.config, self.mechanism = whole.config, whole.mechanism
        self.W_E, self.blocks, self.norm = whole.W_E, whole.blocks, whole.norm
        self.keys, self.rule = keys, RULES[rule]

    def logits(self, tokens: Tensor) -> Tensor:
        """Return the logits of the next word [b,t,n]; torch's own attention has no such choice."""
        return self(tokens).logits

    def _traced(
        self, tokens: Tensor, attend: Callable[[AttentionLayer, Tensor], Trace]
    ) -> ModelTrace:
        generator = torch.Generator().manual_seed(0)  # the same draws in every run
        return super()._traced(
            tokens, lambda layer, h: self.over_choice(layer, attend(layer, h), generator)
        )

    def over_choice(self, layer: AttentionLayer, dense: Trace, generator: torch.Generator) -> Trace:
        """Return the trace of a dense run, over chosen keys instead."""
        chosen = choice(self.rule(dense, generator), dense.mask, self.keys)
        run = replace(dense, chosen=chosen, left_out=left_out(dense, chosen, dense.mask))
        return self.mechanism.form_of(run).weighed(layer, run, softmax(run.scores))


class Looks(NamedTuple):
    """Return where the indexer and the heads look; each query's numbers add up to 1.

    Attributes:
        index: softmax of the index scores [b,t,s].
        heads: attention of the dense layer, the mean over its heads [b,t,s].
    """

    index: Tensor
    heads: Tensor


def looks(trace: IndexedTrace) -> Looks:
    """Read off the trace of a layer, whatever it chose."""
    dense = softmax(masked_sum(trace.scores_C, trace.scores_R, trace.mask))
    index = softmax(trace.index.masked_fill(~trace.mask, -torch.inf))
    return Looks(index, dense.mean(1))


class Answered(NamedTuple):
    """Return a model's share of right answers, and the attention that its choice leaves out there.

    Attributes:
        right: the share of right answers.
        by_task: task -> the same, the mean over its loads.
        left_out: of each layer, the share of dense attention where something is asked, the mean
            over the heads.
    """

    right: float
    by_task: dict[str, float]
    left_out: tuple[float, ...]


@torch.no_grad()
def answered(model: LanguageModel, questions: Questions) -> Answered:
    """Ask a model with indexers, or any `Sparse` one."""
    trace = model(questions.tokens)
    logits = trace.logits[questions.row, questions.place]
    lost = (block.attention.left_out[questions.row, :, questions.place] for block in trace.blocks)
    return Answered(
        right=(logits.argmax(-1) == questions.answer).double().mean().item(),
        by_task=questions.shares(logits),
        left_out=tuple(one.mean().item() for one in lost),
    )


def curves(model: LanguageModel) -> dict[str, dict[str, Answered]]:
    """Return rule -> number of keys, as text -> what is still answered: for a model's card."""
    asked = Questions.drawn(model.config.words, ASKED, SEED)
    return {
        rule: {str(keys): answered(Sparse(model, keys, rule), asked) for keys in (*KEYS, ALL)}
        for rule in RULES
    }
