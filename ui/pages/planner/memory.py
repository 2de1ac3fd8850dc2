"""The memory of one GPU in a picture and sentences: overhead, weights, cache, free."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from kvcount import plan_report
from kvcount.context_parallel import exchanged_bytes
from kvcount.devices import Device
from kvcount.report import as_json
from mla_engine.figures import bars, rows
from mla_engine.figures.bars import EMPTY
from ui.pages.planner.headline import name
from ui.pages.planner.view import GIB, Served, Unsized, View
from ui.parts import charts, files
from ui.words.numbers import count, size, tied_size
from ui.words.text import listed, parted, t

MEMORY, ROW = 150, 110  # pixels of the picture, and of each row
LOOKS = {  # of the parts of a bar: each is darker or lighter than the one before, also in print
    "overhead": (1, ""),
    "weights": ("weight", ""),
    "cache": (0, ""),
    "free": ("weight", EMPTY),
}


def draw(view: View) -> None:
    """Draw one GPU to scale: overhead, weights, cache and what is free; the line is its memory."""
    parts = {
        "overhead": [float(one.plan.overhead_bytes) for one in view.all],
        "weights": [float(one.plan.rank_weight_bytes) for one in view.all],
        "cache": [one.cache_bytes for one in view.all],
        "free": [one.free_bytes for one in view.all],
    }
    fig = _bars([one.label for one in view.all], parts, view.gpu)
    data, file = partial(_table, view), "mla_plan_memory.csv"
    charts.show(fig, "planner:memory", alt=_alt(view), data=data, file=file)


def draw_unsized(view: Unsized) -> None:
    """Draw one GPU with the cache of one sequence, where the weights are not known."""
    fig = _bars([view.label], {"cache": [view.sequence_bytes]}, view.gpu)
    said = {"memory": size(view.gpu.memory_bytes), "cache": size(view.sequence_bytes)}
    alt = t("planner.alt_unsized", **said, model=view.name)
    data, file = partial(_table_unsized, view), "mla_plan_cache.csv"
    charts.show(fig, "planner:unsized", alt=alt, data=data, file=file)


def _bars(labels: list[str], parts: dict[str, list[float]], gpu: Device) -> charts.Drawing:
    """Return bars of what fills a GPU, a row for each model, with a line at its memory."""
    amounts = {t(f"planner.part_{name}"): np.array(of) / GIB for name, of in parts.items()}
    most = gpu.memory_bytes / GIB
    return partial(
        bars,
        ["<br>".join(rows(label)) for label in labels],
        amounts,
        axis=t("planner.axis_memory"),
        roles=tuple(LOOKS[name] for name in parts),
        limits=(0, 1.04 * max(most, *sum(amounts.values()))),
        at=most,
        height=MEMORY + ROW * len(labels),
    )


def _alt(view: View) -> str:
    """Return the picture of one GPU in words."""
    each = parted(
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


def _table(view: View) -> pd.DataFrame:
    """Return the bytes that fill one GPU, a row a model."""
    rows = [
        {
            "model": one.found.name,
            "memory_bytes": view.gpu.memory_bytes,
            "weight_bytes": float(one.plan.rank_weight_bytes),
            "overhead_bytes": float(one.plan.overhead_bytes),
            "sequence_bytes": float(one.plan.sequence_bytes),
            "cache_bytes": one.cache_bytes,
            "free_bytes": one.free_bytes,
            "largest_batch": one.plan.largest_batch,
        }
        for one in view.all
    ]
    return pd.DataFrame(rows)


def _table_unsized(view: Unsized) -> pd.DataFrame:
    """Return the bytes of one sequence beside the memory of a GPU."""
    placed = {"gpus": view.placing.gpus, "data": view.placing.data, "context_tokens": view.context}
    held = {"memory_bytes": view.gpu.memory_bytes, "sequence_bytes": view.sequence_bytes}
    return pd.DataFrame([{"model": view.name, **placed, **held}])


def below(view: View) -> list[str]:
    """Return the sentences below the picture of a GPU."""
    said = (_stored, _sums, _stages, _split, _dealt, _whole, _drafting)
    return [*filter(None, (say(view) for say in said)), *_beyond(view)]


def _stored(view: View) -> str:
    """Say what the files of the model's folder hold; "" for a model without."""
    if (found := view.served.found.stored) is None:
        return ""
    said = {"bytes": tied_size(found.n_bytes), "model": name(view.served)}
    if found.bits is None:
        return t("planner.stored_packed", **said)
    return t("planner.stored", **said, n=count(found.parameters), bits=found.bits)


def _sums(view: View) -> str:
    """Say what fills one GPU, as a sum."""
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


def _split(view: View) -> str:
    """Say how much of a sequence's cache tensor parallelism leaves on each GPU; "" without it."""
    plan, on = view.plan, view.plan.fullest.holding
    if on.ranks == 1:
        return ""
    alone = replace(on, gpus=1, data=1, context_ranks=1)
    whole, each = float(alone.most_bytes(plan.context)), float(plan.sequence_bytes)
    said = {"ranks": count(on.ranks), "each": tied_size(each)}
    if each == whole:
        return t("planner.split_none", **said)
    return t("planner.split", **said, whole=tied_size(whole))


def _stages(view: View) -> str:
    """Say how layers are dealt out over a pipeline, and whose GPU is drawn; "" without one."""
    plan = view.plan
    if plan.pipeline == 1:
        return ""
    layers = [len(one.placing.model.layers) for one in plan.stages]
    shown = plan.stages.index(plan.fullest) + 1
    return t("planner.stages", layers=listed(map(count, layers)), n=count(shown))


def _dealt(view: View) -> str:
    """Say what dealing out tokens costs; "" where they are not dealt out."""
    on = view.plan.fullest.placing
    if on.context_ranks == 1:
        return ""
    received = exchanged_bytes(on.model, on.ranks, on.context_ranks)
    said = {"n": count(on.context_ranks), "bytes": tied_size(float(received))}
    return t("planner.dealt_tokens", **said)


def _drafting(view: View) -> str:
    """Say whose MTP layers are held; "" where none are."""
    each = [
        t("planner.mtp_layers", model=name(one), n=count(len(one.plan.model.mtp)))
        for one in view.all
        if one.plan.mtp
    ]
    return t("planner.drafting", each=listed(each)) if each else ""


def _whole(view: View) -> str:
    """Say which weights each group has for itself; "" where there is one group."""
    plan = view.plan
    if plan.data == 1:
        return ""
    if not plan.model.attention_parameters:
        return t("planner.whole_untold")
    return t("planner.whole", n=count(plan.model.attention_parameters))


def _beyond(view: View) -> list[str]:
    """Return a sentence on each model that was made for fewer tokens."""
    return [
        t("planner.beyond", model=name(one), most=count(most))
        for one in view.all
        if (most := one.plan.model.max_context) and one.plan.context > most
    ]


def assumed(view: View) -> list[str]:
    """Return what is taken as given, also of models whose active parameters nobody says."""
    of_all = [
        t(f"planner.assumed_{about}") for about in ("peaks", "weights", "attention", "memory")
    ]
    used = {"stages": view.plan.pipeline > 1, "dealt": view.plan.context_ranks > 1}
    of_all += [t(f"planner.assumed_{about}") for about, is_used in used.items() if is_used]
    of_all += [
        t("planner.rounded", model=name(one), total=count(one.plan.parameters))
        for one in view.all
        if one.plan.rounded
    ]
    return of_all + [
        t("planner.all_active", model=name(one), total=count(one.plan.parameters))
        for one in view.all
        if one.plan.active is None and one.plan.bounded
    ]


def figures(view: View, one: Served) -> dict[str, Any]:
    """Return every figure of a model's plan by name."""
    return plan_report.figures(one.found.name, one.plan, view.kv)


def report(view: View) -> None:
    """Draw the buttons that hand out the whole plan."""
    for form, mime in (("md", "text/markdown"), ("json", "application/json")):
        made = partial(_report, view, form)
        key = f"planner:{form}"
        files.button(t(f"planner.report_{form}"), made, f"mla_plan.{form}", mime, key)


def _report(view: View, form: str) -> bytes:
    """Return the engine's report of the chosen model, "json" or "md"."""
    told = figures(view, view.served)
    text = as_json(told) if form == "json" else plan_report.as_markdown(told)
    return text.encode()
