"""What the page planner draws as lines: rates, batches and FLOPs, each by a code and its model."""

from collections.abc import Sequence
from dataclasses import dataclass

from mla_engine.model_caches.flops import form_flops
from ui.pages.planner.view import Served, View
from ui.parts.growth import LENGTHS

QUERIES = tuple(2**n for n in range(13))


@dataclass(frozen=True)
class Curve:
    """A line.

    Args:
        model: whose.
        code: what it is, told apart from the model's others.
        points: place -> height; nothing where it has none.
    """

    model: str
    code: str
    points: dict[int, float]


def rates(view: View) -> list[Curve]:
    """Tokens a second over the batch, up to what fits; bounds above, by what a batch touches.

    Beside another model one line each, the higher.
    """
    fitting = [one for one in view.all if one.plan.largest_batch and one.plan.bounded]
    ends = {one.plan.largest_batch for one in fitting}
    places = sorted(ends | {2**n for n in range(max(ends, default=0).bit_length())})
    return [
        _rate(one, places, spread=spread)
        for one in fitting
        for spread in ((False, True) if one.plan.routed and not view.other else (False,))
    ]


def _rate(one: Served, places: Sequence[int], *, spread: bool) -> Curve:
    plan = one.plan
    found = {n: plan.step(n, spread=spread) for n in places if n <= plan.largest_batch}
    points = {n: float(step.tokens_per_second) for n, step in found.items()}
    return Curve(one.found.name, "own_weights" if spread else "same_weights", points)


def batches(view: View) -> list[Curve]:
    """The largest batch over the context, of each way to share the cache or of both models."""
    if view.other:
        return [_batch(view, one, one.plan.data) for one in view.all]
    return [_batch(view, view.served, data) for data in view.layouts]


def _batch(view: View, one: Served, data: int) -> Curve:
    found = zip(LENGTHS, one.batches(LENGTHS, data), strict=True)
    code = f"tp{one.plan.gpus // data}_dp{data}"
    return Curve(one.found.name, code, {n: most for n, most in found if most})


def forms(view: View) -> list[Curve]:
    """FLOPs of a layer over the queries, absorbed and expanded; none without latents."""
    if (widths := view.served.widths) is None:
        return []
    plan = view.plan
    found = {n: form_flops(plan.model.n_heads, *widths, plan.context, n) for n in QUERIES}
    return [
        Curve(view.served.found.name, code, {n: flops[place] for n, flops in found.items()})
        for place, code in enumerate(("absorbed", "expanded"))
    ]
