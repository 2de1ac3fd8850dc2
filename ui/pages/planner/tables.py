"""The tables of the page planner; those that are handed out are in codes, not in words."""

from mla_engine.late import Late
from mla_engine.model_caches import plan_report
from ui.pages.planner.curves import Curve, batches, forms, rates
from ui.pages.planner.view import Served, Unsized, View
from ui.words.numbers import clock, count, digits, tied_size
from ui.words.text import t

pd = Late("pandas")


def memory(view: View) -> "pd.DataFrame":
    """What fills one GPU, in bytes, a row a model."""
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


def unsized(view: Unsized) -> "pd.DataFrame":
    """Bytes of one sequence beside the memory of a GPU."""
    placed = {"gpus": view.placing.gpus, "data": view.placing.data, "context_tokens": view.context}
    held = {"memory_bytes": view.gpu.memory_bytes, "sequence_bytes": view.sequence_bytes}
    return pd.DataFrame([{"model": view.name, **placed, **held}])


def speed(view: View) -> "pd.DataFrame":
    """Tokens a second at most, a row a batch."""
    return _rows(rates(view), "sequences", "tokens_per_second_at_most")


def contexts(view: View) -> "pd.DataFrame":
    """The largest batch, a row a context."""
    return _rows(batches(view), "context_tokens", "largest_batch")


def crossing(view: View) -> "pd.DataFrame":
    """FLOPs of both forms, a row a number of queries."""
    return _rows(forms(view), "query_tokens", "flops_per_layer")


def _rows(curves: list[Curve], x: str, y: str) -> "pd.DataFrame":
    rows = [
        {"model": one.model, "curve": one.code, x: place, y: height}
        for one in curves
        for place, height in one.points.items()
    ]
    return pd.DataFrame(rows)


def steps(view: View) -> "pd.DataFrame":
    """Decode steps as text: one sequence a group, and all that fit."""
    rows = [_step(one, step) for one in view.all for step in _told(view, one)["steps"]]
    found = pd.DataFrame(rows)
    if not view.other:
        found = found.drop(columns=t("planner.column_model"))
    return found.set_index(found.columns[0])


def _told(view: View, one: Served) -> dict:
    return plan_report.figures(one.found.name, one.plan, view.kv)


def _step(one: Served, step: dict) -> dict[str, str]:
    routing = step["routing"].replace(" ", "_") if one.plan.routed else "all"
    cells = {
        "model": one.found.name,
        "sequences": count(step["batch"]),
        "routing": t(f"planner.routing_{routing}"),
        "read": tied_size(step["read_bytes_each"]),
        "flops": digits(step["flops"] / 1e12),
        "seconds": clock(step["seconds_at_least"]),
        "rate": count(step["tokens_per_second_at_most"]),
        "own_rate": digits(step["sequence_tokens_per_second_at_most"]),
    }
    return {t(f"planner.column_{name}"): cell for name, cell in cells.items()}


def report(view: View, form: str) -> bytes:
    """The engine's report of the chosen model, "json" or "md"."""
    told = _told(view, view.served)
    text = plan_report.as_json(told) if form == "json" else plan_report.as_markdown(told)
    return text.encode()
