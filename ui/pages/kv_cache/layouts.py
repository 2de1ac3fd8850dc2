"""The cache page's view of layouts: what MLA can keep of a token, part by part."""

import pandas as pd
import streamlit as st

from mla_engine import costs, figures
from ui.pages.kv_cache import words as kv_words
from ui.pages.kv_cache.view import WIDTHS, Scene
from ui.parts import prose
from ui.settings import state
from ui.words.numbers import count, size, times
from ui.words.text import t

ROLES = ("key", "rope", "latent", "value")  # the parts, in the order of the bars
LATENTS = ("copy", "latent")


def elements(scene: Scene) -> dict[str, int]:
    """Numbers per token and layer of each layout of the model's MLA, or of the assumed one."""
    kept = costs.layouts(scene.ways["mla"])
    return {layout: sum(parts.values()) for layout, parts in kept.items()}


def title(scene: Scene) -> str:
    """Keys and values of every head, the latent with a copy, the latent alone."""
    kept = elements(scene)
    ratio = times(kept["full"] / kept["latent"])
    numbers = {layout: count(n) for layout, n in kept.items()}
    return t("kv_cache.title_layouts", model=scene.preset.name, ratio=ratio, **numbers)


def look() -> str:
    """What to look at."""
    return t("kv_cache.look_layouts")


def draw(scene: Scene, name: str) -> None:
    """All layouts on one scale, the two with latents on their own, and the table."""
    kept = elements(scene)
    _bars(scene, tuple(kept), f"{name}:layouts")
    st.caption(t("kv_cache.magnified"))
    _bars(scene, LATENTS, f"{name}:latents")
    st.table(_table(scene, kept))
    st.markdown(_baselines(scene, kept))
    prose.say(t("kv_cache.layout_full"))
    prose.say(t("kv_cache.layout_copy"))
    if scene.own != "mla":
        mla = scene.ways["mla"]
        st.markdown(t("kv_cache.layout_assumed", latent=mla.d_latent_kv, rope=mla.d_rope))
    for sentence in kv_words.limitations(scene):
        st.markdown(sentence)


def _bars(scene: Scene, layouts: tuple[str, ...], key: str) -> None:
    kept = costs.layouts(scene.ways["mla"])
    totals = elements(scene)
    parts = {
        t(f"kv_cache.part_{role}"): [kept[layout][role] for layout in layouts] for role in ROLES
    }
    figure = figures.bars(
        [t(f"kv_cache.layout_{layout}_short") for layout in layouts],
        parts,
        axis=t("kv_cache.axis_numbers"),
        roles=ROLES,
        totals=[count(totals[layout]) for layout in layouts],
        height=320 if len(layouts) > 2 else 210,
    )
    # The magnified chart stands under the same legend; two entries a row fit a phone.
    figure.update_layout(showlegend=layouts != LATENTS, legend_entrywidth=110)
    said = "; ".join(
        f"{t(f'kv_cache.layout_{layout}_short')} {count(totals[layout])}" for layout in layouts
    )
    alt = t("kv_cache.alt_layouts", model=scene.preset.name, held=said)
    st.plotly_chart(figure, width="stretch", key=key, alt=alt)


def held_bytes(scene: Scene, numbers: int, tokens: int) -> float:
    """Bytes of `tokens` tokens where a token and layer takes so many numbers."""
    return numbers * WIDTHS[scene.dtype] * tokens * scene.n_caches * scene.batch


def _table(scene: Scene, kept: dict[str, int]) -> pd.DataFrame:
    tokens = state.settings()["kv_context"]
    held = {layout: held_bytes(scene, numbers, tokens) for layout, numbers in kept.items()}
    rows = {
        t(f"kv_cache.layout_{layout}_short"): (
            size(held[layout]),
            size(held[layout], binary=False),
            times(kept[layout] / kept["latent"]),
        )
        for layout in kept
    }
    columns = [
        t("kv_cache.column_binary", tokens=count(tokens)),
        t("kv_cache.column_decimal", tokens=count(tokens)),
        t("kv_cache.column_latent"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _baselines(scene: Scene, kept: dict[str, int]) -> str:
    return t(
        "kv_cache.two_baselines",
        full=count(kept["full"]),
        mha=count(kept["mha"]),
        ratio_full=times(kept["full"] / kept["latent"]),
        ratio_mha=times(kept["mha"] / kept["latent"]),
    )


def download(scenes: tuple[Scene, ...], s: dict[str, object]) -> pd.DataFrame:
    """Every part of every layout, numbers as numbers."""
    rows = [
        {
            "model": scene.preset.name,
            "mla": "own" if scene.own == "mla" else "assumed",
            "layout": layout,
            **{f"{role}_numbers": parts[role] for role in ROLES},
            "numbers_per_token_and_layer": sum(parts.values()),
            "context_tokens": s["kv_context"],
            "bytes": held_bytes(scene, sum(parts.values()), s["kv_context"]),
        }
        for scene in scenes
        for layout, parts in costs.layouts(scene.ways["mla"]).items()
    ]
    return pd.DataFrame(rows)
