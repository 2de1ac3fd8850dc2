"""The words of the compute page: title, sentences, alternative texts, and its question."""

import re
from collections.abc import Mapping

from mla_engine import costs
from ui.pages.compute import after
from ui.pages.compute.run import Timed, Trial
from ui.pages.compute.view import THIS, View
from ui.parts import measure
from ui.parts.measure import device_name, here, machine
from ui.parts.questions import Question, decades
from ui.parts.ways import INDEXED, label, listed, of_model, successor
from ui.words.numbers import clock, count, digits, flop, giga, share, shortest, tied_size, times
from ui.words.text import sentences, t, variant_name


def plain(text: str) -> str:
    """A text without its colours, for alternative texts."""
    return re.sub(r"<[^>]+>|\*\*", "", text)


def title(phase: str) -> str:
    """The page's point: of the phase, or of the mechanism chosen where it came after MLA."""
    return t(f"compute.title_{successor() or phase}")


def lead(view: View) -> tuple[str, str]:
    """A statement with live numbers: intensities, two least times, or when choosing keys pays."""
    if view.model.variant == INDEXED:
        return _lead_indexed(view)
    if view.shown in view.later:
        return after.lead(view)
    values = {"model": of_model(view.model), "gpu": device_name(view.device)}
    if not view.decoding:
        seconds = {code: clock(view.seconds(code)) for code in ("mla_each", "mla_absorbed")}
        line = t("compute.line_prefill", tokens=count(view.context), **values, **seconds)
        return seconds["mla_each"], line
    numbers = {code: digits(view.cost(code).flops_per_byte) for code in ("mha", "mla_absorbed")}
    line = t("compute.line_decode", **values, **numbers, ridge=digits(view.device.ridge))
    return t("compute.each_byte", flops=numbers["mla_absorbed"]), line


def look(view: View) -> str:
    """What to look at under the roof."""
    if view.shown in view.later:
        return t("compute.look_later", name=variant_name(view.shown))
    return t("compute.look")


def _lead_indexed(view: View) -> tuple[str, str]:
    turn = view.choosing_wins()
    values = _chosen_and_all(view) | {"model": of_model(view.model)}
    if turn is None:
        return t("compute.never"), t(f"compute.line_indexed_never_{view.phase}", **values)
    number = t("compute.from_tokens", tokens=count(turn))
    return number, t(f"compute.line_indexed_{view.phase}", **values, turn=count(turn))


def _chosen_and_all(view: View) -> dict[str, str]:
    """FLOP of all layers at the present context, with chosen keys and with all of them."""
    codes = {"chosen": INDEXED, "every": view.dense}
    flops = {name: flop(view.layers * view.cost(n).total_flops) for name, n in codes.items()}
    return flops | {"tokens": count(view.context)}


def choosing(view: View) -> str:
    """What the indexer costs and saves, and from when on it pays; whether it is assumed."""
    turn = view.choosing_wins()
    topk = view.ways[INDEXED].config.index_topk
    values = _chosen_and_all(view) | {
        "index": flop(view.layers * view.indexer_flops()),
        "topk": count(topk),
        "dense": label(view.ways, view.dense),
        "gpu": device_name(view.device),
        "turn": _or_never(turn),
        "clocked": _or_never(view.choosing_wins(view.device.seconds)),
    }
    said = [t("compute.choosing", **values)]
    if "index_topk" not in vars(view.model.base):
        said.append(t("compute.choosing_assumed"))
    return sentences(said)


def counted(view: View) -> str:
    """What the numbers are of."""
    key = "counted_decode" if view.decoding else "counted_prefill"
    return t(
        f"compute.{key}",
        layers=count(view.layers),
        batch=count(view.batch),
        tokens=count(view.context),
        queries=count(view.queries),
        width=shortest(view.device.dtype_bytes),
    )


def source(view: View) -> str:
    """The device's rates and where they are from."""
    device = view.device
    return t(
        "compute.source",
        gpu=device_name(device),
        rate=digits(device.flops_per_second / 1e12),
        speed=digits(device.bytes_per_second / 1e9),
        source=t("compute.source_this") if view.gpu == THIS else device.source,
    )


def roof_alt(view: View) -> str:
    """The roofline in words."""
    at = {code: digits(intensity) for code, (intensity, _) in view.places().items()}
    gpu, ridge = device_name(view.device), digits(view.device.ridge)
    return t("compute.alt_roof", gpu=gpu, ridge=ridge, at=listed(view.ways, at))


def bytes_alt(view: View) -> str:
    """The bars in words."""
    return t("compute.alt_bytes", held=listed(view.ways, totals(view)))


def totals(view: View) -> dict[str, str]:
    """Code -> bytes of all layers, as they stand behind the bars."""
    return {code: tied_size(n) for code, n in view.bytes_in_all().items()}


def _or_never(number: int | None) -> str:
    return t("compute.never") if number is None else count(number)


def expansion(view: View) -> str:
    """Where expanding beats absorbing: by FLOP, endlessly long, and by the device's clock."""
    by_flop = view.expansion_crossing()
    values = {"tokens": count(view.context), "gpu": device_name(view.device)}
    if by_flop is None:
        return t("compute.never_expand", **values)
    values |= {"queries": count(by_flop[0]), "limit": digits(costs.crossover_queries(view.latent))}
    return t("compute.expand", **values, clocked=_or_never(view.expansion_by_clock()))


def turning(view: View) -> str:
    """Where absorbed attention alone turns compute-bound, and whether the present step is there."""
    rows = view.turning_rows()
    bound = "compute" if rows is not None and view.rows >= rows else "memory"
    return t(
        "compute.turning",
        gpu=device_name(view.device),
        ridge=digits(view.device.ridge),
        rows=_or_never(rows),
        heads=count(view.latent.n_heads),
        queries=count(view.queries),
        product=count(view.rows),
        bound=t(f"compute.bound_{bound}"),
    )


def batches(view: View) -> str:
    """From how many sequences on each way's whole step is compute-bound."""
    if not view.decoding:
        return ""
    found = {code: _or_never(view.turning_batch(code)) for code in view.ways}
    return t("compute.batches", gpu=device_name(view.device), said=listed(view.ways, found))


def tried(trial: Trial) -> str:
    """Which sizes were timed, on what."""
    key, measured = "tried_decode" if trial.decoding else "tried_prefill", machine()
    return t(
        f"compute.{key}",
        machine=here(),
        heads=count(trial.heads),
        tokens=count(trial.context),
        queries=count(trial.queries),
        rate=giga(measured.flops_per_second, "FLOP/s"),
        speed=giga(measured.bytes_per_second, "B/s"),
    )


def compared(taken: Mapping[str, Timed]) -> str:
    """Why absorbed MLA may take longer than MHA here."""
    mla, mha = taken["mla_absorbed"].trial, taken["mha"].trial
    return measure.compared(mla.cost(), mha.cost(), mla.heads, mla.context)


def kernel(trial: Trial, seconds: float) -> str:
    """How fast the kernel alone is, and how near it comes to this machine's memory."""
    cost = trial.cost()
    speed = cost.cache_read_bytes / seconds
    return t(
        "compute.kernel",
        time=clock(seconds),
        rate=giga(cost.attention_flops / seconds, "FLOP/s"),
        speed=giga(speed, "B/s"),
        share=share(speed / machine().bytes_per_second),
    )


def timed_alt(view: View, taken: Mapping[str, Timed]) -> str:
    """The measured roofline in words."""
    seconds = machine().seconds
    pairs = {
        code: f"{clock(seconds(one.trial.cost()))} / {clock(one.seconds)}"
        for code, one in taken.items()
    }
    return t("compute.alt_measured", gpu=device_name(machine()), times=listed(view.ways, pairs))


def question(view: View) -> Question | None:
    """Return the question of the chosen variant and phase."""
    return after.question(view) if view.shown in view.later else _of_mla(view)


def _of_mla(view: View) -> Question:
    """Ask how many times as long MHA takes as absorbed MLA; in prefill, absorbed as expanded."""
    slow, fast = ("mha", "mla_absorbed") if view.decoding else ("mla_absorbed", "mla_each")
    return decades(
        f"compute_{view.phase}",
        t(f"compute.guess_{view.phase}"),
        view.seconds(slow) / view.seconds(fast),
        (1, 1000),
        say=times,
        why=t(f"compute.guess_{view.phase}_why"),
        hides=() if view.decoding else ("lead",),
    )
