"""The cache page's audit: formulas that calculators used, and how far off each is for a model."""

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import costs, figures
from mla_engine.costs import Formula
from ui.pages.kv_cache import view as kv
from ui.pages.kv_cache import words as kv_words
from ui.pages.kv_cache.context import ends
from ui.pages.kv_cache.layouts import held_bytes
from ui.pages.kv_cache.view import Scene
from ui.pages.kv_cache.words import shown
from ui.parts.figure_words import growth_words
from ui.settings import state
from ui.words.numbers import count, size, times
from ui.words.text import t


def of(scene: Scene) -> tuple[Formula, ...]:
    """The formulas for the model's own layer, the right one first."""
    return costs.formulas(scene.preset.config)


def title(scene: Scene) -> str:
    """The right count, and the range of the others."""
    right, *wrong = of(scene)
    off = sorted(formula.off(scene.preset.config) for formula in wrong)
    return t(
        "kv_cache.title_formula",
        model=scene.preset.name,
        numbers=count(right.numbers(scene.preset.config)),
        low=times(off[0]),
        high=times(off[-1]),
    )


def look() -> str:
    """What to look at."""
    return t("kv_cache.look_formula")


def draw(scene: Scene, name: str) -> None:
    """Every formula as a line, the right one solid, how far off each is and where it is from."""
    s, contexts = state.settings(), kv.contexts()
    figure = figures.cache_growth(
        contexts,
        _curves(scene),
        log=s["kv_log"],
        unit=s["kv_unit"],
        limits=ends(lambda one: _curves(one).values(), log=s["kv_log"]),
        at=s["kv_context"],
        words=growth_words(),
    )
    figures.stress_line(figure, of(scene)[0].short)
    st.plotly_chart(figure, width="stretch", key=f"{name}:formula", alt=_alt(scene))
    st.table(_table(scene))
    st.markdown("\n".join(f"- {_why(formula)}" for formula in of(scene)))
    st.markdown(_units(scene))
    for sentence in kv_words.limitations(scene):
        st.markdown(sentence)


def _curves(scene: Scene) -> dict[str, np.ndarray]:
    numbers = {formula.short: formula.numbers(scene.preset.config) for formula in of(scene)}
    return {
        short: np.array([held_bytes(scene, n, tokens) for tokens in kv.contexts()])
        for short, n in numbers.items()
    }


def off_by(ratio: float) -> str:
    """A ratio beside what it is more or less in percent."""
    percent = f"{ratio - 1:+,.0%}".replace("-", "−")
    return t("kv_cache.right") if ratio == 1 else f"{times(ratio)} ({percent})"


def _table(scene: Scene) -> pd.DataFrame:
    config, tokens = scene.preset.config, state.settings()["kv_context"]
    rows = {
        f"${formula.written}$": (
            count(formula.numbers(config)),
            shown(held_bytes(scene, formula.numbers(config), tokens)),
            off_by(formula.off(config)),
        )
        for formula in of(scene)
    }
    columns = [
        t("kv_cache.column_numbers"),
        t("kv_cache.column_bytes", tokens=count(tokens)),
        t("kv_cache.column_off"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _why(formula: Formula) -> str:
    said = t(f"kv_cache.formula_{formula.code}")
    return f"${formula.written}$: {said} ({formula.source})"


def _units(scene: Scene) -> str:
    held = scene.held_bytes(scene.own, state.settings()["kv_context"])
    return t("kv_cache.two_units", binary=size(held), decimal=size(held, binary=False))


def _alt(scene: Scene) -> str:
    config = scene.preset.config
    said = "; ".join(f"{f.written} {count(f.numbers(config))}" for f in of(scene))
    return t("kv_cache.alt_formula", model=scene.preset.name, held=said)


def download(scenes: tuple[Scene, ...], s: dict[str, object]) -> pd.DataFrame:
    """Every formula's count and bytes for both models."""
    rows = []
    for scene in scenes:
        config = scene.preset.config
        for formula in of(scene):
            numbers = formula.numbers(config)
            rows.append(
                {
                    "model": scene.preset.name,
                    "formula": formula.code,
                    "written": formula.written,
                    "source": formula.source,
                    "numbers_per_token_and_layer": numbers,
                    "over_the_right_one": formula.off(config),
                    "context_tokens": s["kv_context"],
                    "bytes": held_bytes(scene, numbers, s["kv_context"]),
                }
            )
    return pd.DataFrame(rows)
