"""The headline of the planner: how many sequences fit and how fast, its question and its code."""

from kvcount import Plan, Step
from kvcount.context_parallel import exchanged_bytes
from kvcount.planning.flops import step_flops
from kvcount.planning.pipeline import dealt
from ui.pages.planner.view import Served, Unsized, View, spoken
from ui.parts.questions import Question, decades
from ui.parts.snippet import Code, literal
from ui.settings.page import Functions, Recipe
from ui.words.numbers import TIED, count, tied_size
from ui.words.text import t


def name(served: Served) -> str:
    """Return a model's name for a sentence."""
    return spoken(served.found.name, served.own)


def gpus(view: View, n: int | None = None) -> str:
    """Write so many of the GPU, "8 × H200 SXM"."""
    return f"{count(n or view.plan.gpus)}{TIED}×{TIED}{view.gpu.name}"


def sequences(n: int) -> str:
    """Write so many sequences."""
    return t("planner.one_sequence" if n == 1 else "planner.sequences", n=count(n))


def lead(view: View) -> tuple[str, str]:
    """Say how many sequences fit and how fast they are at best, or how many GPUs it would take."""
    plan = view.plan
    said = {"model": name(view.served), "gpus": gpus(view), "context": count(plan.context)}
    if batch := plan.largest_batch:
        key = f"{_line(plan)}_one" if batch == 1 else _line(plan)
        return sequences(batch), t(f"planner.{key}", **said, **_rates(plan))
    said["missing"] = tied_size(float(plan.missing_bytes))
    if (fewest := plan.fewest_gpus) is None:
        return t("planner.nothing"), t("planner.line_never", **said)
    return t("planner.gpus", n=count(fewest)), t("planner.line_too_large", **said)


def _line(plan: Plan) -> str:
    """Return the key of the sentence: with one bound of the rate, with a mixture's two, or none."""
    if not plan.bounded:
        return "line_unbounded"
    return "line_routed" if plan.routed and plan.largest_batch > 1 else "line"


def _rates(plan: Plan) -> dict[str, str]:
    """Write the most tokens a second of all that fit, of a mixture also if none shares experts."""
    if not plan.bounded:
        return {}
    steps = {"rate": False, "own": True} if _line(plan) == "line_routed" else {"rate": False}
    batch = plan.largest_batch
    return {
        name: count(float(plan.step(batch, spread=spread).tokens_per_second))
        for name, spread in steps.items()
    }


def look(view: View) -> str:
    """Say what limits the batch and the rate."""
    plan = view.plan
    if not plan.largest_batch:
        return t("planner.look_too_large")
    if not plan.bounded:
        return no_active(view.served)
    found = plan.computing_from
    if found is None:
        return t("planner.limit_reading")
    key = "limit_memory" if found > plan.largest_batch else "limit_computing"
    return t(f"planner.{key}", n=count(found))


def no_active(served: Served) -> str:
    """Say why a mixture of experts has no rate, and which box is to be filled in."""
    box = t("planner.active")
    return t("planner.no_active", model=name(served), box=box)


def waits(view: Unsized) -> tuple[str, str, str]:
    """Say what a sequence keeps of a model without known weights, and which box asks for them."""
    model = spoken(view.name, view.own)
    said = {"model": model, "gpu": view.gpu.name, "context": count(view.context)}
    look = t("planner.look_unsized", box=t("planner.parameters"), model=model)
    return tied_size(view.sequence_bytes), t("planner.line_unsized", **said), look


def question(view: View) -> Question | None:
    """Ask how many sequences of the chosen length fit; None where not one does."""
    plan = view.plan
    if not plan.largest_batch:
        return None
    said = {"model": name(view.served), "gpus": gpus(view)}
    why = {"each": tied_size(float(plan.sequence_bytes)), "room": tied_size(float(plan.room_bytes))}
    return decades(
        "planner",
        t("planner.guess", **said, context=count(plan.context)),
        plan.largest_batch,
        (1, 10**4),
        say=lambda n: sequences(round(n)),
        why=t("planner.guess_why", **why),
        hides=("lead", "planner_sums", "planner_steps", "planner_dealt"),
    )


def code(view: View) -> Functions:
    """Return the functions that say how many sequences fit, and how fast they are at best."""
    fits = Plan.room_bytes.fget, Plan.sequence_bytes.fget, Plan.largest_batch.func
    fits += (dealt,) if view.plan.pipeline > 1 else ()
    fits += (exchanged_bytes,) if view.plan.context_ranks > 1 else ()
    if not view.plan.largest_batch:
        return *fits, Plan.fewest_gpus.fget
    if not view.plan.bounded:
        return fits
    return *fits, Plan.step, Step.seconds.fget, step_flops, Plan.computing_from.fget


def snippet(view: View) -> Recipe:
    """Return the snippet of the headline: what fits, how fast, or how many GPUs it needs."""
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
        "weight_bits": plan.weight_bits,
        "overhead_bytes": _whole(plan.overhead_bytes),
        "pipeline": plan.pipeline,
        "context_ranks": plan.context_ranks,
        "mtp": plan.mtp,
    }
    if not plan.largest_batch:
        return "too_large", values
    return "plan" if plan.bounded else "fits", values


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _model(served: Served) -> Code:
    """Return the code for a published model, or for finding the reader's own."""
    if served.own:
        return Code(f"find({literal(served.own)}).model")
    return Code(f"MODELS[{literal(served.key)}].model()")
