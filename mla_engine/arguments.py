"""The arguments that layers of every mechanism take: heads, rows of queries, positions."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from mla_engine import checks
from mla_engine.refusals import Phrase, RefusedError

WHOLE_NUMBERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
Places = slice | list[int]


def places(chosen: Sequence[int], among: Sequence[int]) -> Places:
    """Where the chosen stand among others, as an index: a slice makes views, a list copies."""
    found = [among.index(one) for one in chosen]
    run = range(found[0], found[0] + len(found))
    return slice(run.start, run.stop) if found == list(run) else found


def chosen_heads(heads: Iterable[int], among: Sequence[int], n_heads: int) -> tuple[int, ...]:
    """The heads as a tuple, or ValueError for none, a repeated or an absent one."""
    if isinstance(heads, str) or not isinstance(heads, Iterable):
        raise RefusedError("kind", name="heads", value=heads, wanted=Phrase("head_numbers"))
    heads = tuple(heads)
    if not heads:
        raise RefusedError("no_heads")
    for head in heads:
        checks.whole("heads", head, least=0)
        if head not in among:
            if len(among) < n_heads:
                built = list(among)[:8]
                raise RefusedError("head_not_built", head=head, last=n_heads - 1, built=built)
            raise RefusedError("no_head", head=head, last=n_heads - 1)
    if len(set(heads)) < len(heads):
        raise RefusedError("head_twice", heads=list(heads))
    return heads


def query_rows(queries: slice | None, n_tokens: int) -> slice:
    """`queries` as a slice that chooses at least one of `n_tokens` rows."""
    if queries is None:
        return slice(None)
    checks.kind("queries", queries, slice, Phrase("a_slice"))
    for part in (queries.start, queries.stop, queries.step):
        if part is not None and not isinstance(part, int):
            raise RefusedError("query_part", queries=queries, part=part)
    if queries.step is not None and queries.step < 1:
        raise RefusedError("query_step", queries=queries)
    if not range(n_tokens)[queries]:
        raise RefusedError("no_query", queries=queries, rows=n_tokens)
    return queries


def position_numbers(positions: Tensor | Sequence[int] | None, h: Tensor, start: int = 0) -> Tensor:
    """Positions as int64 [t] or [b,t] on the CPU; by default they count on from `start`."""
    batch, tokens = h.shape[:2]
    if positions is None:
        return torch.arange(start, start + tokens)
    try:
        positions = torch.as_tensor(positions, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        wanted = Phrase("whole_numbers")
        raise RefusedError("kind", name="positions", value=positions, wanted=wanted) from error
    if positions.dtype not in WHOLE_NUMBERS:
        raise RefusedError("position_dtype", dtype=positions.dtype)
    if positions.shape not in {(tokens,), (batch, tokens)}:
        raise RefusedError(
            "position_shape", shape=list(positions.shape), tokens=tokens, batch=batch
        )
    if not torch.compiler.is_compiling() and positions.min() < 0:
        raise RefusedError("position_below", position=int(positions.min()))
    return positions.long()
