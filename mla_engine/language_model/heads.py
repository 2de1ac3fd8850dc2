"""Scores of what a trained model's heads measurably do, from their maps on fresh texts.

A score is the mean attention from some places of the texts to some others, so it lies in [0, 1].
Where an answer is determined, the query is the word before it and the key the word that decides
it, as the text itself says. Each is read where a task needs the look: other words have other needs.
A score tells where a head looks, not what it makes of it: what breaks without the head tells that
(`cuts`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from kvcount import checks
from mla_engine.language_model.accuracy import batch, exercises
from mla_engine.language_model.model import LanguageModel, ModelTrace
from mla_engine.language_model.texts import NAMES, TASKS, Text

__all__ = [
    "SCORES",
    "THRESHOLD",
    "HeadScores",
    "Places",
    "Run",
    "Score",
    "head_scores",
    "places_in",
    "scores_of",
]

THRESHOLD = 0.5
"""From here on a head is named: it looks there more than everywhere else together."""


class Places(NamedTuple):
    """The entries of attention to read: text, query and key of each, int64 [n]."""

    text: Tensor
    query: Tensor
    key: Tensor


def binding(texts: Sequence[Text]) -> Places:
    """Return the entries from the second word of every new pair to its first word."""
    found = [
        (row, place, place - 1)
        for row, text in enumerate(texts)
        for place in range(1, len(text))
        if text[place - 1].word in NAMES and not text[place].determined
    ]
    return Places(*torch.tensor(found).reshape(-1, 3).T)


def deciding(texts: Sequence[Text]) -> Places:
    """Return the entries from the word before every answer to the word that decides it."""
    found = [
        (row, place - 1, place - text[place].distance)
        for row, text in enumerate(texts)
        for place in range(1, len(text))
        if text[place].determined and text[place].distance > 0
    ]
    return Places(*torch.tensor(found).reshape(-1, 3).T)


Run = tuple[ModelTrace, Mapping[str, Places]]
"""A trace, and where each score is read in it."""


@dataclass(frozen=True)
class Score:
    """The texts and the entries of attention that show a kind of head.

    Attributes:
        task: whose texts it is read on, and which it serves.
        places: where it is read.
    """

    task: str
    places: Callable[[Sequence[Text]], Places] = deciding

    def texts(self, count: int, seed: int) -> list[list[Text]]:
        """Return fresh texts, `count` of each load, in batches of one load."""
        return [exercises(self.task, load, count, seed) for load in TASKS[self.task].loads]


SCORES = {
    "previous": Score("recall", binding),
    "induction": Score("recall"),
    "copying": Score("copy"),
    "back": Score("back"),
    "agreement": Score("agreement"),
    "brackets": Score("brackets"),
}
"""The scores by name.

previous: in texts of pairs, mean attention from the second word of a pair to the first word of it,
which stands just before (positional heads: Voita et al., arXiv 1905.09418). It is read where the
pair stands for the first time, as this is the look that induction is built on: the second word
takes its name along, so that the name finds it later (K-composition: Olsson et al., arXiv
2209.11895). The trained models' best heads have 0.95 and more there; over all words of mixed texts
the same heads have 0.2 to 0.35, because other words do not need the one before.

induction: in texts whose pairs return, mean attention from the second occurrence of a name to the
word after its first occurrence; Olsson et al.'s prefix matching.

copying: in texts that say a list once more, mean attention to the word of the list that comes
next. It is no look at values: Olsson et al. call copying that a head raises the logit of what it
looks at. An induction head does this, too, from the second word on.

back: from a number to the word so many places back, which words alone cannot find.

agreement: from `now` to the subject, past the nouns that distract; a dependency read off the maps
as Clark et al. did for BERT (arXiv 1906.04341).

brackets: from where a closing bracket is asked for to the bracket that it closes.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadScores:
    """The scores of all heads of a model.

    Attributes:
        kinds: the scores' names, in the order of the columns.
        table: layers x heads x scores, float64.
        even: what a head that looks at all it sees alike would have, float64 [scores].
    """

    kinds: tuple[str, ...]
    table: Tensor
    even: Tensor

    def names(self, threshold: float = THRESHOLD) -> tuple[tuple[str | None, ...], ...]:
        """Name each head, layers x heads, by its highest score; None below the threshold."""
        if not self.kinds:
            return ((None,) * self.table.shape[1],) * self.table.shape[0]
        best = self.table.max(-1)
        return tuple(
            tuple(
                self.kinds[kind] if score >= threshold else None
                for score, kind in zip(*row, strict=True)
            )
            for row in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        )


@torch.no_grad()
def head_scores(
    model: LanguageModel, count: int = 16, seed: int = 0, kinds: Iterable[str] = SCORES
) -> HeadScores:
    """Run a model over fresh texts, once a task and load, and score its heads.

    Args:
        model: of any mechanism.
        count: texts of each load.
        seed: of the texts.
        kinds: the scores wanted, all by default.

    Raises:
        ValueError: a count below 1, a score that there is not.
    """
    checks.whole("count", count)
    kinds = tuple(kinds)
    for kind in kinds:
        checks.choice("kind", kind, SCORES)
    tasks = dict.fromkeys(SCORES[kind].task for kind in kinds)
    runs = (
        (model(batch(texts, model.config.words).tokens), places_in(texts, task))
        for task in tasks
        for load in TASKS[task].loads
        for texts in [exercises(task, load, count, seed)]
    )
    return scores_of(runs, kinds)


def scores_of(runs: Iterable[Run], kinds: Iterable[str] = SCORES) -> HeadScores:
    """Return the heads' scores in runs that are there: the mean over all places of all runs."""
    kinds = tuple(kinds)
    found, even = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    for trace, places in runs:
        for kind in places.keys() & kinds:
            found[kind].append(looks(trace, places[kind]))
            even[kind].append(1 / (places[kind].query.double() + 1))
    return HeadScores(
        kinds=kinds,
        table=torch.stack([torch.cat(found[kind], dim=-1).mean(-1) for kind in kinds], dim=-1),
        even=torch.stack([torch.cat(even[kind]).mean() for kind in kinds]),
    )


def places_in(texts: Sequence[Text], task: str, first_row: int = 0) -> dict[str, Places]:
    """Score -> where it is read in texts of a task, the first of which has this row."""
    found = {kind: one.places(texts) for kind, one in SCORES.items() if one.task == task}
    return {kind: one._replace(text=one.text + first_row) for kind, one in found.items()}


def looks(trace: ModelTrace, places: Places) -> Tensor:
    """Return the attention at these places, layers x heads x places, float64."""
    return torch.stack(
        [
            block.attention.attention[places.text, :, places.query, places.key].double().T
            for block in trace.blocks
        ]
    )
