"""What the page planner says and asks, with its numbers."""

from collections.abc import Sequence
from dataclasses import replace

from mla_engine.model_caches.flops import endless_crossing, expanding_from
from mla_engine.model_caches.models import named
from mla_engine.model_caches.planner import Plan
from ui.pages.planner.curves import QUERIES, Curve
from ui.pages.planner.view import Served, Unsized, View
from ui.parts.growth import LENGTHS
from ui.parts.questions import Question, decades
from ui.words.numbers import TIED, clock, count, digits, flop, size, tied_size
from ui.words.text import safe, t


def name(served: Served) -> str:
    """What a model is called, in a sentence: a stranger's is no markup."""
    ours = not served.own or named(served.own)
    return served.found.name if ours else safe(served.found.name)


def gpus(view: View, n: int | None = None) -> str:
    """So many of the GPU, "8 × H200 SXM"."""
    return f"{count(n or view.plan.gpus)}{TIED}×{TIED}{view.gpu.name}"


def sequences(n: int) -> str:
    """So many sequences."""
    return t("planner.one_sequence" if n == 1 else "planner.sequences", n=count(n))


def layout(data: int, all_gpus: int) -> str:
    """How GPUs share the cache, "TP 8 × DP 1"."""
    return f"TP{TIED}{all_gpus // data} × DP{TIED}{data}"


def lead(view: View) -> tuple[str, str]:
    """How many sequences fit and how fast they are at best, or how many GPUs it would take."""
    plan = view.plan
    said = {"model": name(view.served), "gpus": gpus(view), "context": count(plan.context)}
    if batch := plan.largest_batch:
        key = f"{_line(plan)}_one" if batch == 1 else _line(plan)
        return sequences(batch), t(f"planner.{key}", **said, **headline_rates(plan))
    said["missing"] = tied_size(float(plan.missing_bytes))
    if (fewest := plan.fewest_gpus) is None:
        return t("planner.nothing"), t("planner.line_never", **said)
    return t("planner.gpus", n=count(fewest)), t("planner.line_too_large", **said)


def _line(plan: Plan) -> str:
    """Which sentence: with one bound of the rate, with both of a mixture, or with none."""
    if not plan.bounded:
        return "line_unbounded"
    return "line_routed" if plan.routed and plan.largest_batch > 1 else "line"


def headline_rates(plan: Plan) -> dict[str, str]:
    """Tokens a second at most of all that fit; of a mixture also where none shares experts."""
    if not plan.bounded:
        return {}
    steps = {"rate": False, "own": True} if _line(plan) == "line_routed" else {"rate": False}
    batch = plan.largest_batch
    return {
        name: count(float(plan.step(batch, spread=spread).tokens_per_second))
        for name, spread in steps.items()
    }


def no_active(served: Served) -> str:
    """Why a mixture of experts has no rate, and which box is to be filled in."""
    box = t("planner.active")
    return t("planner.no_active", model=name(served), box=box)


def waits(view: Unsized) -> tuple[str, str, str]:
    """What a sequence keeps of a model whose weights are not known, and which box asks for them."""
    said = {"model": view.name, "gpu": view.gpu.name, "context": count(view.context)}
    look = t("planner.look_unsized", box=t("planner.parameters"), model=view.name)
    return tied_size(view.sequence_bytes), t("planner.line_unsized", **said), look


def alt_unsized(view: Unsized) -> str:
    """The picture of its cache in words."""
    said = {"memory": size(view.gpu.memory_bytes), "cache": size(view.sequence_bytes)}
    return t("planner.alt_unsized", **said, model=view.name)


def look(view: View) -> str:
    """What limits the batch and the rate."""
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


def below(view: View) -> list[str]:
    """What is said below the picture of a GPU."""
    return [*filter(None, (sums(view), split(view), whole(view))), *beyond(view)]


def sums(view: View) -> str:
    """What fills one GPU, as a sum."""
    served, plan = view.served, view.plan
    each = float(plan.sequence_bytes)
    said = {
        "weights": tied_size(float(plan.rank_weight_bytes)),
        "overhead": tied_size(plan.overhead_bytes),
        "n": count(plan.placing(served.shown_batch).sequences),
        "each": tied_size(each),
        "cache": tied_size(served.cache_bytes),
        "free": tied_size(served.free_bytes),
        "memory": tied_size(plan.device.memory_bytes),
        "missing": tied_size(float(plan.missing_bytes)),
    }
    return t("planner.sums" if plan.largest_batch else "planner.sums_missing", **said)


def split(view: View) -> str:
    """What tensor parallelism leaves of a sequence's cache on each GPU; "" without it."""
    plan = view.plan
    if plan.gpus == plan.data:
        return ""
    whole = float(replace(plan, gpus=1, data=1).sequence_bytes)
    each = float(plan.sequence_bytes)
    said = {"ranks": count(plan.gpus // plan.data), "each": tied_size(each)}
    if each == whole:
        return t("planner.split_none", **said)
    return t("planner.split", **said, whole=tied_size(whole))


def whole(view: View) -> str:
    """Which weights each group has for itself; "" where there is one group."""
    plan = view.plan
    if plan.data == 1:
        return ""
    if not plan.model.attention_parameters:
        return t("planner.whole_untold")
    return t("planner.whole", n=count(plan.model.attention_parameters))


def dealt(view: View) -> str:
    """What fits where each GPU has sequences of its own; "" where that is so already."""
    plan = view.plan
    if plan.data == plan.gpus:
        return ""
    most = replace(plan, data=plan.gpus).largest_batch
    said = {"n": count(plan.gpus), "most": sequences(most)}
    if replace(plan, data=plan.gpus).rank_weight_bytes > plan.rank_weight_bytes:
        each = tied_size(float(replace(plan, data=plan.gpus).rank_weight_bytes))
        return t("planner.dealt_weights", **said, now=count(plan.largest_batch), each=each)
    return t("planner.dealt", **said, now=count(plan.largest_batch))


def beyond(view: View) -> list[str]:
    """Of each model that was made for fewer tokens."""
    return [
        t("planner.beyond", model=name(one), most=count(most))
        for one in view.all
        if (most := one.plan.model.max_context) and one.plan.context > most
    ]


def assumed(view: View) -> list[str]:
    """What is taken as given, of all models and of those whose active parameters nobody says."""
    of_all = [
        t(f"planner.assumed_{about}") for about in ("peaks", "weights", "attention", "memory")
    ]
    return of_all + [
        t("planner.all_active", model=name(one), total=count(one.plan.parameters))
        for one in view.all
        if one.plan.active is None and one.plan.bounded
    ]


def first_token(view: View) -> str:
    """How long a prompt takes at least."""
    seconds = clock(float(view.plan.first_token_seconds))
    said = {"context": count(view.plan.prompt_tokens), "gpus": gpus(view), "seconds": seconds}
    return t("planner.first_token", **said)


def expanding(view: View) -> str:
    """From how many queries on expanding computes less, where there are latents."""
    if (widths := view.served.widths) is None:
        return t("planner.no_latents", model=name(view.served))
    endless = endless_crossing(*widths)
    if endless is None:
        return t("planner.never_expanding")
    said = {"context": count(view.plan.context), "endless": digits(float(endless))}
    return t("planner.expanding", **said, n=count(expanding_from(*widths, view.plan.context)))


def alt_memory(view: View) -> str:
    """The picture of one GPU in words."""
    each = "; ".join(
        t(
            "planner.alt_part",
            model=one.found.name,
            weights=size(float(one.plan.rank_weight_bytes)),
            cache=size(one.cache_bytes),
            overhead=size(one.plan.overhead_bytes),
            free=size(one.free_bytes),
        )
        for one in view.all
    )
    return t("planner.alt_memory", memory=size(view.gpu.memory_bytes), each=each)


def alt_speed(view: View) -> str:
    """Tokens a second over the batch in words."""
    each = "; ".join(
        t("planner.alt_rate", model=one.found.name, **_rates(one))
        for one in view.all
        if one.plan.largest_batch and one.plan.bounded
    )
    return t("planner.alt_speed", each=each)


def _rates(one: Served) -> dict[str, str]:
    least, most = (one.plan.step(n).tokens_per_second for n in (1, one.plan.largest_batch))
    rates = {"least": count(float(least)), "most": count(float(most))}
    return rates | {"n": count(one.plan.largest_batch)}


def alt_contexts(view: View) -> str:
    """Batches over the context in words."""
    first, last = LENGTHS[0], LENGTHS[-1]
    each = "; ".join(
        f"{one.found.name}: {count(short)}, {count(long)}"
        for one in view.all
        for short, long in (one.batches((first, last)),)
    )
    return t("planner.alt_contexts", first=count(first), last=count(last), each=each)


def alt_crossing(view: View, found: Sequence[Curve]) -> str:
    """Both forms' FLOPs at the ends of their lines in words."""
    ends = {
        one.code: f"{flop(one.points[QUERIES[0]])}, {flop(one.points[QUERIES[-1]])}"
        for one in found
    }
    said = {"context": count(view.plan.context), "most": count(QUERIES[-1])}
    return t("planner.alt_crossing", **said, **ends)


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
