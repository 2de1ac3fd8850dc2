"""The cache page's topic of layouts: what MLA can keep of a token, part by part."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from mla_engine import costs
from mla_engine.figures import bars
from mla_engine.late import Late
from ui.pages.kv_cache.scene import Scene
from ui.pages.kv_cache.view import View
from ui.pages.kv_cache.words import limitations
from ui.parts import charts, prose
from ui.words.numbers import amount, count, size, times
from ui.words.text import t

pd = Late("pandas")

ROLES = ("key", "rope", "latent", "value")  # the parts, in the order of the bars
LATENTS = ("copy", "latent")
ENTRY_WIDTH = 110  # of the legend: two entries a row fit a phone


def _totals(scene: Scene) -> dict[str, float]:
    """Numbers per token and layer of each layout of the model's MLA, or of the assumed one."""
    kept = costs.layouts(scene.ways[scene.latents])
    return {layout: sum(parts.values()) for layout, parts in kept.items()}


def lead(view: View) -> tuple[str, str]:
    """Of the left model: keys and values of every head, the latent with a copy, the latent."""
    scene = view.scenes[0]
    kept = _totals(scene)
    ratio = times(kept["full"] / kept["latent"])
    numbers = {layout: amount(n) for layout, n in kept.items()}
    line = t("kv_cache.line_layouts", model=scene.preset.name, ratio=ratio, **numbers)
    return t("kv_cache.numbers", n=numbers["latent"]), line


def look(_view: View) -> str:
    """What to look at."""
    return t("kv_cache.look_layouts")


def draw(view: View, scene: Scene, side: str) -> None:
    """All layouts on one scale, the two with latents on their own, and the table."""
    _bars(scene, tuple(_totals(scene)), f"{side}:layouts", height=320)
    prose.note(t("kv_cache.magnified"))
    _bars(scene, LATENTS, f"{side}:latents", height=210)  # under the legend above
    st.table(_table(view, scene))
    prose.say(_baselines(scene))
    prose.say(t("kv_cache.layout_full"))
    prose.say(t("kv_cache.layout_copy"))
    if said := _index(vars(scene.preset.config)):
        prose.say(said)
    if scene.assumes("mla"):
        latent, rope = count(scene.ways["mla"].d_latent_kv), scene.ways["mla"].d_rope
        prose.say(t("kv_cache.layout_assumed", latent=latent, rope=rope))
    for sentence in limitations(view, scene):
        prose.say(sentence)


def _index(own: Mapping[str, object]) -> str:
    """What an indexer keeps beside the model's own latents, if one does."""
    if "d_index" not in own or "d_latent_kv" not in own:
        return ""
    index = count(own["d_index"])
    if "pooling" in own:
        return t("kv_cache.layout_index_pooled", index=index, pools=count(own["pooling"]))
    return t("kv_cache.layout_index", index=index)


def _bars(scene: Scene, layouts: tuple[str, ...], key: str, *, height: int) -> None:
    kept, totals = costs.layouts(scene.ways[scene.latents]), _totals(scene)
    figure = partial(
        bars,
        [_short(layout) for layout in layouts],
        {t(f"kv_cache.part_{role}"): [kept[layout][role] for layout in layouts] for role in ROLES},
        axis=t("kv_cache.axis_numbers"),
        roles=ROLES,
        totals=[amount(totals[layout]) for layout in layouts],
        height=height,
        legend=layouts != LATENTS,
        entries=ENTRY_WIDTH,
    )
    held = "; ".join(f"{_short(layout)} {amount(totals[layout])}" for layout in layouts)
    alt = t("kv_cache.alt_layouts", model=scene.preset.name, held=held)
    charts.show(figure, key, alt=alt, file=f"kv_cache_{scene.key}")


def _short(layout: str) -> str:
    return t(f"kv_cache.layout_{layout}_short")


def _table(view: View, scene: Scene) -> "pd.DataFrame":
    kept = _totals(scene)
    held = {layout: scene.bytes_of(numbers, view.context) for layout, numbers in kept.items()}
    rows = {
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
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


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
    """Every part of every layout, numbers as numbers."""
    rows = [
        {
            "model": scene.preset.name,
            "mla": "assumed" if scene.assumes("mla") else "own",
            "layout": layout,
            **{f"{role}_numbers": parts[role] for role in ROLES},
            "numbers_per_token_and_layer": sum(parts.values()),
            "context_tokens": view.context,
            "bytes": scene.bytes_of(sum(parts.values()), view.context),
        }
        for scene in view.scenes
        for layout, parts in costs.layouts(scene.ways[scene.latents]).items()
    ]
    return pd.DataFrame(rows)
