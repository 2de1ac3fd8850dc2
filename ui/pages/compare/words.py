"""The words of the comparison: titles, what to look at, what differs and whose weights are run."""

import numpy as np

from mla_engine import costs
from ui.engine import real_layer
from ui.engine.trained_layer import TrainedLayer
from ui.pages.compare import trained
from ui.pages.compare.side import BF16_BYTES
from ui.pages.compare.view import View
from ui.parts.maps import reading
from ui.parts.maps.view import short
from ui.parts.questions import Question, decades
from ui.parts.ways import other_layers
from ui.words.numbers import amount, count, heads, signed, size, times
from ui.words.text import listed, safe, t, tensor


def title(view: View | None) -> str:
    """Return the title: two layers, or two trained models, stand side by side."""
    two = view is not None and view.trained and view.a.origin != view.b.origin
    return t("compare.title_trained" if two else "compare.title")


def lead(view: View) -> tuple[str, str]:
    """The caches of both and their ratio, and what does not grow."""
    left, right = (costs.cache_elements(side.config) for side in view.sides)
    said = {"a": amount(left), "b": amount(right)}
    said |= {"left": view.a.shown_name, "right": view.b.shown_name}
    fixed = _fixed(view)
    if left == right:
        return "=", t("compare.line_equal", **said) + fixed
    if not min(left, right):
        return t("compare.per_token", n=count(0)), t("compare.line_none", **said) + fixed
    ratio = times(max(left, right) / min(left, right))
    return ratio, t("compare.line", ratio=ratio, **said) + fixed


def _fixed(view: View) -> str:
    """Return what the sides keep whatever the context, if anything."""
    kept = {one.letter: costs.fixed_bytes(one.config, BF16_BYTES) for one in view.sides}
    each = listed(f"{letter} {size(n_bytes)}" for letter, n_bytes in kept.items() if n_bytes)
    return t("compare.line_fixed", each=each) if each else ""


def look(view: View) -> str:
    """Return the sentence on what to look at; of trained models it stands below the maps."""
    if view.topic == "maps" and view.trained:
        return ""
    kept = view.topic == "flow" and not all(side.grows for side in view.sides)
    return t("compare.look_kept" if kept else f"compare.look_{view.topic}")


def beyond(view: View) -> str:
    """Return the note on a long sentence; else nothing."""
    return next(filter(None, (reading.beyond(side.origin, view.words) for side in view.sides)), "")


def differences(marked: dict[str, str]) -> str:
    """The steps that differ, a line for each way of differing."""
    lines = []
    for how in ("only_a", "only_b", "shape"):
        codes = [tensor(code) for code, found in marked.items() if found == how]
        if codes:
            lines.append(" ".join(("-", t(f"compare.differ_{how}"), ", ".join(codes))))
    return "\n".join(lines) or t("compare.same")


def weights(view: View) -> str:
    """Whose weights the maps are of, and what happens to a head that one side has not."""
    if any(isinstance(side.origin, TrainedLayer) for side in view.sides):
        return trained.weights(view)
    real = [side for side in view.sides if side.origin == view.model.layer]
    if not real:
        return t("compare.random")
    name = real_layer.name(view.model.layer)
    drawn = [side.letter for side in view.sides if side not in real]
    if not drawn:
        return t("compare.both_real", name=name)
    return t("compare.one_real", real=real[0].shown_name, name=name, drawn=drawn[0])


def sizes(view: View) -> str:
    """Whose costs are counted, where a side is a small trained model."""
    small = [side for side in view.sides if isinstance(side.origin, TrainedLayer)]
    if not small:
        return ""
    config = small[0].config
    return t("compare.costs_small", width=count(config.d_model), heads=heads(config.n_heads))


def apart(view: View, cell: tuple[int, int] | None, a: np.ndarray, b: np.ndarray) -> str:
    """The cell where the two maps differ most, by its words, and both numbers there.

    Or, without a cell, that their columns are not the same.
    """
    if cell is None:
        return t("compare.other_columns")
    query, key = (safe(short(view.words[place])) for place in cell)
    values = {"a": signed(float(a[cell])), "b": signed(float(b[cell]))}
    return t("compare.apart", query=query, target=key, **values)


def limitations(view: View) -> list[str]:
    """Return a sentence for each layer that a model has beside those compared."""
    keys = dict.fromkeys(side.preset for side in view.sides if side.preset)
    return [sentence for key in keys for sentence in other_layers(key)]


def question(view: View) -> Question | None:
    """Ask for the ratio of the two caches beside the data flow, where both grow."""
    kept = sorted(costs.cache_elements(side.config) for side in view.sides)
    if view.topic != "flow" or not kept[0]:
        return None
    return decades(
        "compare",
        t("compare.guess"),
        kept[1] / kept[0],
        (1, 1000),
        say=times,
        why=t("compare.guess_why"),
        hides=() if view.trained else ("lead",),  # beside their maps it was seen before
    )
