"""The cache page's topic of layouts: of what parts and kinds of rows a cache consists."""

import streamlit as st

from mla_engine import costs
from mla_engine.late import Late
from ui.pages.kv_cache import rows
from ui.pages.kv_cache.scene import Scene
from ui.pages.kv_cache.view import View
from ui.pages.kv_cache.words import limitations
from ui.parts import charts, prose
from ui.words.numbers import amount, count, size, times
from ui.words.text import t

pd = Late("pandas")

LATENTS = ("copy", "latent")


def _layouts(scene: Scene) -> dict[str, dict[str, float]]:
    """Of the model's MLA, or of the assumed one."""
    return costs.layouts(scene.ways[scene.latents])


def _totals(scene: Scene) -> dict[str, float]:
    """Numbers per token and layer of each layout."""
    return {layout: sum(parts.values()) for layout, parts in _layouts(scene).items()}


def title(view: View) -> str:
    """The point of the picture."""
    return t("kv_cache.title_rows" if view.scenes[0].uneven else "kv_cache.title_layouts")


def lead(view: View) -> tuple[str, str]:
    """Of the left model: keys and values of every head, the latent with a copy, the latent."""
    scene = view.scenes[0]
    if scene.uneven:
        return rows.lead(view)
    kept = _totals(scene)
    ratio = times(kept["full"] / kept["latent"])
    numbers = {layout: amount(n) for layout, n in kept.items()}
    line = t("kv_cache.line_layouts", model=scene.preset.name, ratio=ratio, **numbers)
    return t("kv_cache.numbers", n=numbers["latent"]), line


def look(view: View) -> str:
    """What to look at."""
    return t("kv_cache.look_rows" if view.scenes[0].uneven else "kv_cache.look_layouts")


def draw(view: View, scene: Scene, side: str) -> None:
    """Layouts of latents; what came after them, or the model's own, by its kinds of rows."""
    if not scene.uneven:
        _of_latents(view, scene, side)
        prose.say(t("kv_cache.rows_of", tokens=count(view.context)))
    rows.draw(view, scene, side)
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
    figure = rows.stacked(
        {_short(layout): kept[layout] for layout in layouts},
        [amount(totals[layout]) for layout in layouts],
        t("kv_cache.axis_numbers"),
        height=height,
        legend=layouts != LATENTS,
    )
    held = "; ".join(f"{_short(layout)} {amount(totals[layout])}" for layout in layouts)
    alt = t("kv_cache.alt_layouts", model=scene.preset.name, held=held)
    charts.show(figure, key, alt=alt, file=f"kv_cache_{scene.key}")


def _short(layout: str) -> str:
    return t(f"kv_cache.layout_{layout}_short")


def _table(view: View, scene: Scene) -> "pd.DataFrame":
    kept = _totals(scene)
    held = {layout: scene.bytes_of(numbers, view.context) for layout, numbers in kept.items()}
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


def data(view: View) -> "pd.DataFrame":
    """Every kind of row of every layout and cache, numbers as numbers."""
    return pd.DataFrame([row for scene in view.scenes for row in _rows(view, scene)])


def _rows(view: View, scene: Scene) -> list[dict[str, object]]:
    """The layouts of latents, and what else does not keep keys and values in full."""
    laid_out = {
        layout: {kind: n * view.context for kind, n in parts.items()}
        for layout, parts in _layouts(scene).items()
    }
    held = {layout: sum(parts.values()) * scene.width for layout, parts in laid_out.items()}
    for way in scene.ways:
        if way != scene.latents and (kept := scene.rows(way, view.context)):
            laid_out[way] = {kind: row.numbers for kind, row in kept.items()}
            held[way] = sum(row.n_bytes for row in kept.values())
    return [
        {
            "model": scene.preset.name,
            "cache": cache,
            "is_the_models_own": cache == ("latent" if scene.own == scene.latents else scene.own),
            **{f"{kind}_numbers": numbers.get(kind, 0) for kind in rows.KINDS},
            "numbers_of_a_layer": sum(numbers.values()),
            "context_tokens": view.context,
            "bytes": held[cache] * scene.n_caches * scene.batch,
        }
        for cache, numbers in laid_out.items()
    ]
