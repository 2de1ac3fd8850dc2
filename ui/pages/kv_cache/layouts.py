"""The parts and kinds of rows that a cache consists of.

A token adds rows to a latent's layouts; what came after MLA keeps windows, entries and states, too.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import costs
from mla_engine.closed_forms import Amount
from mla_engine.figures import bars
from ui.pages.kv_cache.common import limitations, shown, two_models
from ui.pages.kv_cache.scene import WIDTH_OF_STATES, Scene
from ui.pages.kv_cache.view import SIDES, View
from ui.parts import charts, prose
from ui.parts.snippet import config
from ui.settings.page import Functions, Panel, Recipe
from ui.words.numbers import amount, count, prefixed_count, size, times
from ui.words.text import bracketed, named, parted, t

CONTROLS = "kv_context", "kv_layers", "kv_batch", "kv_type", "kv_unit"
KINDS = {  # of rows, in the order of the bars -> colour, by the kind of tensor, and pattern
    "key": ("key", ""),
    "rope": ("rope", "/"),
    "latent": ("latent", "."),
    "value": ("value", "x"),
    "entries": ("latent", ""),
    "index": ("key", "\\"),
    "window": ("latent", "/"),
    "waiting": ("latent", "x"),
    "state": ("latent", "-"),
    "tails": ("value", "+"),
}
TOLD = ("entries", "waiting", "state")  # which do not explain themselves
ENTRY_WIDTH = 110  # of the legend: two entries a row fit a phone
ROW, ENTRY, AXIS = 40, 24, 110  # pixels of a bar, of an entry on a phone, and of the axis

Caches = Mapping[str, Mapping[str, Amount]]
"""Label -> kind of row -> what a layer keeps of it."""
LATENTS = ("copy", "latent")
GROUPED = "mha", "gqa", "own", "mqa"


def _layouts(scene: Scene) -> dict[str, dict[str, float]]:
    """Return the layouts of the model's MLA, or of the assumed one."""
    return costs.layouts(scene.ways[scene.latents])


def _totals(scene: Scene) -> dict[str, float]:
    """Numbers per token and layer of each layout."""
    return {layout: sum(parts.values()) for layout, parts in _layouts(scene).items()}


def title(view: View) -> str:
    """The point of the picture."""
    return t("kv_cache.title_rows" if view.scenes[0].uneven else "kv_cache.title_layouts")


def lead(view: View) -> tuple[str, str]:
    """Say of the left model what each layout keeps: every head, a latent with a copy, a latent."""
    scene = view.scenes[0]
    if scene.uneven:
        return _lead_of_rows(view)
    kept = _totals(scene)
    ratio = times(kept["full"] / kept["latent"])
    numbers = {layout: amount(n) for layout, n in kept.items()}
    line = t("kv_cache.line_layouts", model=scene.preset.name, ratio=ratio, **numbers)
    return t("kv_cache.numbers", n=numbers["latent"]), line


def look(view: View) -> str:
    """Say what to look at."""
    return t("kv_cache.look_rows" if view.scenes[0].uneven else "kv_cache.look_layouts")


def _draw(view: View, scene: Scene, side: str) -> None:
    """Layouts of latents; what came after them, or the model's own, by its kinds of rows."""
    if not scene.uneven:
        _of_latents(view, scene, side)
        prose.say(t("kv_cache.rows_of", tokens=count(view.context)))
    _draw_rows(view, scene, side)
    for sentence in limitations(view, scene):
        prose.say(sentence)


def _of_latents(view: View, scene: Scene, side: str) -> None:
    """All layouts on one scale, the two with latents on their own, and the table."""
    _bars(scene, tuple(_totals(scene)), f"{side}:layouts", height=320)
    prose.note(t("kv_cache.magnified"))
    _bars(scene, LATENTS, f"{side}:latents", height=210)  # under the legend above
    st.table(_table(view, scene))
    prose.say(_baselines(scene))
    prose.say(t("kv_cache.layout_full"))
    prose.say(t("kv_cache.layout_copy"))
    if index := _layouts(scene)["latent"]["index"]:
        prose.say(t("kv_cache.layout_index", index=amount(index)))
    if scene.assumes("mla"):
        latent, rope = count(scene.ways["mla"].d_latent_kv), scene.ways["mla"].d_rope
        prose.say(t("kv_cache.layout_assumed", latent=latent, rope=rope))


def _bars(scene: Scene, layouts: tuple[str, ...], key: str, *, height: int) -> None:
    kept, totals = _layouts(scene), _totals(scene)
    figure = _stacked(
        {_short(layout): kept[layout] for layout in layouts},
        [amount(totals[layout]) for layout in layouts],
        t("kv_cache.axis_numbers"),
        height=height,
        legend=layouts != LATENTS,
    )
    held = parted(f"{_short(layout)} {amount(totals[layout])}" for layout in layouts)
    alt = t("kv_cache.alt_layouts", model=scene.preset.name, held=held)
    charts.show(figure, key, alt=alt, file=f"kv_cache_{scene.key}")


def _short(layout: str) -> str:
    return t(f"kv_cache.layout_{layout}_short")


def _table(view: View, scene: Scene) -> pd.DataFrame:
    kept = _totals(scene)
    held = {layout: scene.bytes_of(numbers, view.context) for layout, numbers in kept.items()}
    held["latent"] = _held(scene, scene.rows(scene.latents, view.context))
    found = {
        _short(layout): (
            size(held[layout]),
            size(held[layout], binary=False),
            times(kept[layout] / kept["latent"]),
        )
        for layout in kept
    }
    columns = [
        t("kv_cache.column_binary", tokens=count(view.context)),
        t("kv_cache.column_decimal", tokens=count(view.context)),
        t("kv_cache.column_latent"),
    ]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns)


def _baselines(scene: Scene) -> str:
    kept = _totals(scene)
    return t(
        "kv_cache.two_baselines",
        full=amount(kept["full"]),
        mha=amount(kept["mha"]),
        ratio_full=times(kept["full"] / kept["latent"]),
        ratio_mha=times(kept["mha"] / kept["latent"]),
    )


def _stacked(
    rows: Mapping[str, Mapping[str, float]],
    totals: Sequence[str],
    axis: str,
    *,
    height: int,
    legend: bool = True,
) -> partial:
    """Lying bars, each stacked from its kinds of rows; what none of them has is left out."""
    kinds = [kind for kind in KINDS if any(row.get(kind) for row in rows.values())]
    return partial(
        bars,
        list(rows),
        {t(f"kv_cache.part_{kind}"): [row.get(kind, 0) for row in rows.values()] for kind in kinds},
        axis=axis,
        roles=[KINDS[kind] for kind in kinds],
        totals=totals,
        height=height,
        legend=legend,
        entries=ENTRY_WIDTH,
    )


def _caches(view: View, scene: Scene) -> Caches:
    """The model's own cache, MLA's and MHA's; beside even ones those that came after them."""
    if not scene.uneven:
        return {scene.label(way): scene.rows(way, view.context) for way in _apart(scene)}
    mha = costs.layouts(scene.ways["mla"])["mha"]
    full = {kind: n * view.context for kind, n in mha.items() if n}
    return {
        scene.label("mha"): {kind: Amount(n, n * scene.width) for kind, n in full.items()},
        **{scene.label(way): scene.rows(way, view.context) for way in ("mla", scene.own)},
    }


def _apart(scene: Scene) -> list[str]:
    """Return the ways that do not keep keys and values in full."""
    return [way for way in scene.ways if way not in GROUPED]


def _by_kind(rows: Mapping[str, Amount]) -> dict[str, float]:
    return {kind: row.numbers for kind, row in rows.items()}


def _numbers(rows: Mapping[str, Amount]) -> float:
    return sum(row.numbers for row in rows.values())


def _lead_of_rows(view: View) -> tuple[str, str]:
    """Say of the left model what a layer keeps of all tokens, by kind of row, and MLA."""
    scene = view.scenes[0]
    own, mla = (scene.rows(way, view.context) for way in (scene.own, "mla"))
    line = t(
        "kv_cache.line_rows",
        model=scene.preset.name,
        tokens=count(view.context),
        rows=rows_in_words(own),
        mla=count(_numbers(mla)),
        ratio=times(_numbers(mla) / _numbers(own)),
    )
    return t("kv_cache.numbers", n=count(_numbers(own))), line


def rows_in_words(rows: Mapping[str, Amount]) -> str:
    """Write the kinds of rows with their numbers."""
    return parted(
        named(t(f"kv_cache.part_{kind}"), count(rows[kind].numbers))
        for kind in KINDS
        if kind in rows and rows[kind].numbers
    )


def _draw_rows(view: View, scene: Scene, side: str) -> None:
    """All caches on one scale, the model's own of several kinds by itself, and the table."""
    found = _caches(view, scene)
    _bars_of_rows(view, scene, found, f"{side}:rows")
    if scene.uneven:
        own = scene.label(scene.own)
        prose.note(t("kv_cache.magnified_own"))
        _bars_of_rows(view, scene, {own: found[own]}, f"{side}:own_rows")
    st.table(_table_of_rows(view, scene, found))
    each = (named(f"**{label}**", rows_in_words(rows)) for label, rows in found.items())
    prose.say("\n".join(f"- {one}" for one in each))
    for sentence in _sentences(scene, found):
        prose.say(sentence)


def _bars_of_rows(view: View, scene: Scene, found: Caches, key: str) -> None:
    numbers = {label: _by_kind(rows) for label, rows in found.items()}
    totals = [prefixed_count(_numbers(rows)) for rows in found.values()]
    axis = t("kv_cache.axis_layer", tokens=count(view.context))
    height = AXIS + ROW * len(found) + ENTRY * len(_kinds(found))
    figure = _stacked(numbers, totals, axis, height=height)
    held = parted(bracketed(label, rows_in_words(rows)) for label, rows in found.items())
    alt = t("kv_cache.alt_rows", model=scene.preset.name, tokens=count(view.context), held=held)
    charts.show(figure, key, alt=alt, file=f"kv_cache_{scene.key}")


def _table_of_rows(view: View, scene: Scene, found: Caches) -> pd.DataFrame:
    """One row a cache, as text: numbers of a layer, bytes of all layers, ratio to MLA."""
    held = {label: _held(scene, rows) for label, rows in found.items()}
    mla = held[scene.label("mla")]
    rows = {
        label: (prefixed_count(_numbers(kept)), shown(view, held[label]), times(mla / held[label]))
        for label, kept in found.items()
    }
    columns = [
        t("kv_cache.column_rows"),
        t("kv_cache.column_bytes", tokens=count(view.context)),
        t("kv_cache.column_mla"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _held(scene: Scene, rows: Mapping[str, Amount]) -> float:
    """Bytes of all counted layers and sequences."""
    return sum(row.n_bytes for row in rows.values()) * scene.n_caches * scene.batch


def _kinds(found: Caches) -> set[str]:
    """Return the kinds of rows that any of the caches has."""
    return {kind for rows in found.values() for kind, row in rows.items() if row.numbers}


def _sentences(scene: Scene, found: Caches) -> list[str]:
    """Return what explains the kinds of rows that are drawn."""
    kinds = _kinds(found)
    said = [t(f"kv_cache.kind_{kind}") for kind in TOLD if kind in kinds]
    if "state" in kinds and scene.width < WIDTH_OF_STATES:
        said.append(t("kv_cache.state_wide"))
    return said + mla_compared(scene) * scene.uneven


def mla_compared(scene: Scene) -> list[str]:
    """Say which MLA stands beside a model that has none, nor keys and values of each token."""
    if not scene.assumes("mla"):
        return []
    latent, rope = count(scene.ways["mla"].d_latent_kv), scene.ways["mla"].d_rope
    return [t("kv_cache.mla_beside", latent=latent, rope=rope)]


def data(view: View) -> pd.DataFrame:
    """Every kind of row of every layout and cache, numbers as numbers."""
    return pd.DataFrame([row for scene in view.scenes for row in _rows(view, scene)])


def _rows(view: View, scene: Scene) -> list[dict[str, object]]:
    """The layouts of latents, and what else does not keep keys and values in full."""
    laid_out = {
        layout: {kind: n * view.context for kind, n in parts.items()}
        for layout, parts in _layouts(scene).items()
    }
    held = {layout: sum(parts.values()) * scene.width for layout, parts in laid_out.items()}
    held["latent"] = sum(row.n_bytes for row in scene.rows(scene.latents, view.context).values())
    for way in _apart(scene):
        if way != scene.latents and (kept := scene.rows(way, view.context)):
            laid_out[way] = {kind: row.numbers for kind, row in kept.items()}
            held[way] = sum(row.n_bytes for row in kept.values())
    return [
        {
            "model": scene.preset.name,
            "cache": cache,
            "is_the_models_own": cache == ("latent" if scene.own == scene.latents else scene.own),
            **{f"{kind}_numbers": numbers.get(kind, 0) for kind in KINDS},
            "numbers_of_a_layer": sum(numbers.values()),
            "context_tokens": view.context,
            "bytes": held[cache] * scene.n_caches * scene.batch,
        }
        for cache, numbers in laid_out.items()
    ]


def code(_view: View) -> Functions:
    """Return the functions of the engine that ran."""
    return costs.layouts, costs.kept


def snippet(view: View) -> Recipe:
    """Return the snippet that makes the headline's numbers."""
    scene = view.scenes[0]
    if not scene.uneven:
        return "layouts", {"config": config(scene.ways[scene.latents], scene.key)}
    return "rows", {
        "config": config(scene.preset.config, scene.key),
        "beside": config(scene.ways["mla"], scene.key),
        "tokens": view.context,
        "width": scene.width,
    }


PANEL = Panel(
    name="layouts",
    settings=(*SIDES, *CONTROLS),
    shown={"kv_view": "layouts"},
    title=title,
    lead=lead,
    look=look,
    draw=partial(two_models, _draw, CONTROLS),
    data=data,
    code=code,
    snippet=snippet,
)
