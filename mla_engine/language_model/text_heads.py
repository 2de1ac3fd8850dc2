"""Scores of what heads do in any text, from its tokens alone: four kinds of look.

A score is the share of a query's attention that goes to keys of a kind, as a mean over the queries
that see such a key, so it lies in [0, 1]. A head with nothing to look for looks at the first token
of a text (Xiao et al., arXiv 2309.17453), so no other kind counts that as a key.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from kvcount import checks
from mla_engine.language_model.heads import HeadScores
from mla_engine.language_model.model import LanguageModel
from mla_engine.language_model.reading import Reading, by_turns, check_held

__all__ = ["KINDS", "looks_in", "repeat_scores", "repeats", "scores", "sentence_scores"]

KINDS = ("previous", "induction", "same", "first")
"""The kinds, by their keys.

previous: the token before the query. induction: a token that follows an earlier occurrence of the
query's token (Olsson et al., arXiv 2209.11895). same: an earlier occurrence itself. first: the
first token of the text.
"""
REPEATS, LENGTH = 4, 32  # texts, and the tokens that each says twice


def looks_in(tokens: Tensor) -> dict[str, Tensor]:
    """Return, for each kind, which keys of its queries are of it in a text [t]: bool [t,s]."""
    length = len(tokens)
    query, key = torch.arange(length)[:, None], torch.arange(length)
    same = (tokens[:, None] == tokens) & (key < query)
    follows = torch.zeros_like(same)
    follows[:, 1:] = same[:, :-1]
    found = {"previous": key == query - 1, "induction": follows & (key < query), "same": same}
    first = (key == 0) & (query > 0)
    return {kind: looks & (key > 0) for kind, looks in found.items()} | {"first": first}


def sentence_scores(reading: Reading, place: int = 0) -> HeadScores:
    """Return the scores of all heads in one of the texts that were read, of the kinds it has."""
    return scores(reading.tokens[[place]], reading.attention[:, [place]])


@torch.no_grad()
def repeat_scores(model: LanguageModel, count: int = REPEATS, seed: int = 0) -> HeadScores:
    """Return the scores of all heads on `count` fresh texts of random tokens, each said twice.

    Nothing but that they return makes one of their tokens likelier than another.
    """
    checks.whole("count", count)
    texts = repeats(len(model.config.words), count, seed)
    check_held(model, texts)
    return scores(texts, (one.attention.attention for one in by_turns(model, texts)))


def repeats(n_words: int, count: int = REPEATS, seed: int = 0, length: int = LENGTH) -> Tensor:
    """Return texts of random tokens, none twice, that are then said once more [count, 2 length]."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randperm(n_words, generator=generator)[:length] for _ in range(count)]
    return torch.stack(drawn).repeat(1, 2)


def scores(texts: Tensor, layers: Iterable[Tensor]) -> HeadScores:
    """Return the mean over the queries of all texts [b,t], from each layer's maps [b,h,t,s]."""
    looks = torch.stack([torch.stack([*looks_in(text).values()]) for text in texts], dim=1)
    rows = looks.any(-1)  # [kinds,b,t], the queries that see such a key
    seen = torch.arange(1, texts.shape[1] + 1)
    table, even = [], (looks.sum(-1).double() / seen)
    for maps in layers:
        by_query = maps.double().transpose(1, 2)
        shares = [
            (by_query * look[:, :, None]).sum(-1)[row].mean(0)
            for look, row in zip(looks, rows, strict=True)
        ]
        table.append(torch.stack(shares, dim=-1))
    there = [place for place, row in enumerate(rows) if row.any()]
    return HeadScores(
        kinds=tuple(KINDS[place] for place in there),
        table=torch.stack(table)[..., there],
        even=torch.stack([share[row].mean() for share, row in zip(even, rows, strict=True)])[there],
    )
