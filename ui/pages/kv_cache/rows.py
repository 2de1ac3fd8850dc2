"""Of what kinds of rows the caches consist: what each token adds, windows, entries, states."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from mla_engine import costs
from mla_engine.closed_forms import Amount
from mla_engine.figures import bars
from mla_engine.late import Late
from ui.pages.kv_cache.scene import WIDTH_OF_STATES, Scene
from ui.pages.kv_cache.view import View
from ui.pages.kv_cache.words import shown
from ui.parts import charts, prose
from ui.words.numbers import count, prefixed_count, times
from ui.words.text import t

pd = Late("pandas")

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


def stacked(
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


def caches(view: View, scene: Scene) -> Caches:
    """The model's own cache, MLA's and MHA's; beside even ones those that came after them."""
    if not scene.uneven:
        every = {way: scene.rows(way, view.context) for way in scene.ways}
        return {scene.label(way): rows for way, rows in every.items() if rows}
    mha = costs.layouts(scene.ways["mla"])["mha"]
    full = {kind: n * view.context for kind, n in mha.items() if n}
    return {
        scene.label("mha"): {kind: Amount(n, n * scene.width) for kind, n in full.items()},
        **{scene.label(way): scene.rows(way, view.context) for way in ("mla", scene.own)},
    }


def _by_kind(rows: Mapping[str, Amount]) -> dict[str, float]:
    return {kind: row.numbers for kind, row in rows.items()}


def _numbers(rows: Mapping[str, Amount]) -> float:
    return sum(row.numbers for row in rows.values())


def lead(view: View) -> tuple[str, str]:
    """Of the left model: what a layer keeps of all tokens, of what kinds of rows, and MLA."""
    scene = view.scenes[0]
    own, mla = (scene.rows(way, view.context) for way in (scene.own, "mla"))
    line = t(
        "kv_cache.line_rows",
        model=scene.preset.name,
        tokens=count(view.context),
        rows=told(own),
        mla=count(_numbers(mla)),
        ratio=times(_numbers(mla) / _numbers(own)),
    )
    return t("kv_cache.numbers", n=count(_numbers(own))), line


def told(rows: Mapping[str, Amount]) -> str:
    """The kinds of rows with their numbers."""
    parts = [
        t("ways.amount", name=t(f"kv_cache.part_{kind}"), n=count(rows[kind].numbers))
        for kind in KINDS
        if kind in rows and rows[kind].numbers
    ]
    return t("ways.between").join(parts)


def draw(view: View, scene: Scene, side: str) -> None:
    """All caches on one scale, the model's own of several kinds by itself, and the table."""
    found = caches(view, scene)
    _bars(view, scene, found, f"{side}:rows")
    if scene.uneven:
        own = scene.label(scene.own)
        prose.note(t("kv_cache.magnified_own"))
        _bars(view, scene, {own: found[own]}, f"{side}:own_rows")
    st.table(_table(view, scene, found))
    prose.say("\n".join(f"- **{label}**: {told(rows)}" for label, rows in found.items()))
    for sentence in _sentences(scene, found):
        prose.say(sentence)


def _bars(view: View, scene: Scene, found: Caches, key: str) -> None:
    numbers = {label: _by_kind(rows) for label, rows in found.items()}
    totals = [prefixed_count(_numbers(rows)) for rows in found.values()]
    axis = t("kv_cache.axis_layer", tokens=count(view.context))
    kinds = {kind for rows in found.values() for kind, row in rows.items() if row.numbers}
    height = AXIS + ROW * len(found) + ENTRY * len(kinds)
    figure = stacked(numbers, totals, axis, height=height)
    held = "; ".join(f"{label} ({told(rows)})" for label, rows in found.items())
    alt = t("kv_cache.alt_rows", model=scene.preset.name, tokens=count(view.context), held=held)
    charts.show(figure, key, alt=alt, file=f"kv_cache_{scene.key}")


def _table(view: View, scene: Scene, found: Caches) -> "pd.DataFrame":
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


def _sentences(scene: Scene, found: Caches) -> list[str]:
    """What the kinds of rows are that are drawn."""
    kinds = {kind for rows in found.values() for kind, row in rows.items() if row.numbers}
    said = [t(f"kv_cache.kind_{kind}") for kind in TOLD if kind in kinds]
    if "state" in kinds and scene.width < WIDTH_OF_STATES:
        said.append(t("kv_cache.state_wide"))
    return said + beside(scene) * scene.uneven


def beside(scene: Scene) -> list[str]:
    """What MLA stands beside a model that has none, nor keys and values of each token."""
    if not scene.assumes("mla"):
        return []
    latent, rope = count(scene.ways["mla"].d_latent_kv), scene.ways["mla"].d_rope
    return [t("kv_cache.mla_beside", latent=latent, rope=rope)]
