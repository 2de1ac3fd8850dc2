"""The snippet of the page planner."""

from ui.pages.planner.view import Served, View
from ui.parts.snippet import Code, literal
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template that makes the headline: what fits, how fast, or how many GPUs it needs."""
    plan = view.plan
    values = {
        "model": _model(view.served),
        "kv": view.kv,
        "parameters": _whole(plan.parameters),
        "active": None if plan.active is None else _whole(plan.active),
        "gpu": plan.gpu,
        "gpus": plan.gpus,
        "data": plan.data,
        "context": plan.context,
        "weight_bytes": plan.weight_bytes,
        "overhead_bytes": _whole(plan.overhead_bytes),
    }
    if not plan.largest_batch:
        return "too_large", values
    return "plan" if plan.bounded else "fits", values


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _model(served: Served) -> Code:
    """A published model, or where to find the reader's own."""
    if served.own:
        return Code(f"find({literal(served.own)}).model")
    return Code(f"MODELS[{literal(served.key)}].model()")
