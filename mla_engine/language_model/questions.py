"""Fresh texts of all tasks asked at once, and what a model makes of them: for a page that waits.

What is found is what `accuracies` and `head_scores` find text by text. It is found sooner, because
a model runs once for its heads and its answers, and because after the last attention only the words
are followed at which something is asked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import torch
from torch import Tensor, einsum

from kvcount import checks
from mla_engine.language_model.accuracy import batch, exercises
from mla_engine.language_model.cuts import Change, TopKeys
from mla_engine.language_model.heads import HeadScores, Places, places_in, scores_of
from mla_engine.language_model.model import LanguageModel
from mla_engine.language_model.texts import TASKS, Text
from mla_engine.layer import AttentionLayer
from mla_engine.ops import rms_norm

__all__ = ["NEEDED", "SPARED", "Questions", "Uncut", "right", "uncut", "verdict", "without"]

NEEDED, SPARED = 0.30, 0.05
"""A cut breaks a task that loses so many of its answers, and spares one that loses fewer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Questions:
    """Texts of every task and load in one batch, and where they ask.

    Attributes:
        texts: (task, load) -> its texts, in the order of the rows.
        tokens: int64 [b,t], without the last word, after which nothing is asked.
        row, place: of the word before each answer, int64 [n].
        answer: the token that is right, int64 [n].
        group: of each answer, its place among the tasks and loads, int64 [n].
        looks: score -> where it is read in a trace of the tokens.
    """

    texts: dict[tuple[str, int], list[Text]]
    tokens: Tensor
    row: Tensor
    place: Tensor
    answer: Tensor
    group: Tensor
    looks: dict[str, Places]

    @classmethod
    def drawn(cls, words: Sequence[str], count: int, seed: int) -> "Questions":
        """Return `count` fresh texts of each load, of a seed; those of `accuracies`.

        Raises:
            ValueError: a count below 1.
        """
        checks.whole("count", count)
        texts = {
            (task.name, load): exercises(task.name, load, count, seed)
            for task in TASKS.values()
            for load in task.loads
        }
        all_ = batch([text for some in texts.values() for text in some], words)
        asked = all_.determined[:, 1:] & (all_.distance[:, 1:] > 0)
        row, place = asked.nonzero().T
        return cls(
            texts=texts,
            tokens=all_.tokens[:, :-1].contiguous(),
            row=row,
            place=place,
            answer=all_.tokens[row, place + 1],
            group=row // count,
            looks=_looks(texts),
        )

    def shares(self, logits: Tensor) -> dict[str, float]:
        """Return task -> the share of right answers of logits [n, words], the mean over loads."""
        given = (logits.argmax(-1) == self.answer).double()
        sums = torch.zeros(len(self.texts), dtype=torch.float64).index_add(0, self.group, given)
        found = dict(zip(self.texts, (sums / self.group.bincount()).tolist(), strict=True))
        return {
            task.name: fmean(found[task.name, load] for load in task.loads)
            for task in TASKS.values()
        }


def _looks(texts: Mapping[tuple[str, int], list[Text]]) -> dict[str, Places]:
    """Return the entries that each score reads, in all texts one below the other."""
    parts, row = {}, 0
    for (task, _), some in texts.items():
        for kind, one in places_in(some, task, row).items():
            parts.setdefault(kind, []).append(one)
        row += len(some)
    return {kind: Places(*map(torch.cat, zip(*some, strict=True))) for kind, some in parts.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Uncut:
    """The run of a whole model over questions, kept for its cuts.

    Attributes:
        scores: of its heads.
        right: task -> the share of right answers.
        x_mid: of each layer the stream behind its attention [b,t,d].
        o: of each layer what its heads send on [b,t,h,v].
    """

    scores: HeadScores
    right: dict[str, float]
    x_mid: tuple[Tensor, ...]
    o: tuple[Tensor, ...]


@torch.no_grad()
def uncut(model: LanguageModel, questions: Questions) -> Uncut:
    """Run a model once for its heads and for its answers."""
    trace = model(questions.tokens)
    return Uncut(
        scores=scores_of([(trace, questions.looks)]),
        right=questions.shares(trace.logits[questions.row, questions.place]),
        x_mid=tuple(block.x_mid for block in trace.blocks),
        o=tuple(block.attention.o for block in trace.blocks),
    )


@torch.no_grad()
def without(
    model: LanguageModel, questions: Questions, run: Uncut, layer: int, heads: Sequence[int]
) -> dict[str, float]:
    """Return task -> the share of right answers without these heads, from the uncut run on.

    All before these heads is as it was, and what they wrote is taken off behind them.
    """
    kept, W_O = list(heads), model.blocks[layer].attention.W_O
    written = einsum("bthv,dhv->btd", run.o[layer][:, :, kept], W_O[:, kept])
    logits = _followed(model, questions, run.x_mid[layer] - written, layer)
    return questions.shares(logits)


@torch.no_grad()
def right(model: LanguageModel, questions: Questions) -> dict[str, float]:
    """Return task -> the share of right answers, the mean over its loads."""
    x, first = model.W_E[questions.tokens], model.blocks[0]
    x = x + _attending(model)(first.attention, first.before_attention(x))
    return questions.shares(_followed(model, questions, x, 0))


def verdict(changes: Mapping[str, Change], task: str) -> str:
    """Name what a cut of heads tells about the task that they are named after.

    Returns:
        "unlearned": there was nothing to break; "own": the task breaks and another is spared;
        "everything": it breaks and none is spared; "shared": it does not break, as others do it.
    """
    lost = {code: change.before - change.after for code, change in changes.items()}
    if changes[task].before < NEEDED:
        return "unlearned"
    if lost[task] < NEEDED:
        return "shared"
    return "own" if min(lost.values()) < SPARED else "everything"


def _followed(model: LanguageModel, questions: Questions, x: Tensor, layer: int) -> Tensor:
    """Return the logits [n, words] where something is asked, from behind a layer's attention on."""
    attend = _attending(model)
    for block, after in pairwise(model.blocks[layer:]):
        x = block.mlp(x)["x_out"]
        x = x + attend(after.attention, after.before_attention(x))
    asked = x[questions.row, questions.place].unsqueeze(0)
    x = model.blocks[-1].mlp(asked)["x_out"]
    return rms_norm(x, model.norm, model.config.norm_eps)[0] @ model.W_E.T


def _attending(model: LanguageModel) -> Callable[[AttentionLayer, Tensor], Tensor]:
    """Return what a layer adds to the stream, without a trace where that is possible."""
    if isinstance(model, TopKeys):
        return model.attended
    return lambda layer, h: model.mechanism.fused(layer, h, torch.arange(h.shape[1]))
