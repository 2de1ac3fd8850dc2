"""The cache page's audit: formulas that calculators used, and how far off each is for a model."""

import numpy as np
import streamlit as st

from mla_engine import costs
from mla_engine.costs import Formula
from mla_engine.late import Late
from ui.pages.kv_cache.charts import growth
from ui.pages.kv_cache.scene import Scene
from ui.pages.kv_cache.view import View
from ui.pages.kv_cache.words import limitations, shown
from ui.parts import charts, prose
from ui.words.numbers import count, size, times, times_in_percent
from ui.words.text import t

pd = Late("pandas")


def _formulas(scene: Scene) -> tuple[Formula, ...]:
    """The formulas for the model's own layer, the right one first."""
    return costs.formulas(scene.preset.config)


def lead(view: View) -> tuple[str, str]:
    """The left model's right count, and the range of the others."""
    scene = view.scenes[0]
    right, *wrong = _formulas(scene)
    off = sorted(formula.off(scene.preset.config) for formula in wrong)
    line = t(
        "kv_cache.line_formula",
        model=scene.preset.name,
        numbers=count(right.numbers(scene.preset.config)),
        low=times(off[0]),
        high=times(off[-1]),
    )
    return t("kv_cache.numbers", n=count(right.numbers(scene.preset.config))), line


def look(_view: View) -> str:
    """What to look at."""
    return t("kv_cache.look_formula")


def draw(view: View, scene: Scene, side: str) -> None:
    """Every formula as a line, the right one solid, how far off each is and where it is from."""
    figure = growth(
        view,
        view.contexts,
        _curves(view, scene),
        roles=range(len(_formulas(scene))),
        limits=view.ends(lambda one: _curves(view, one).values()),
        at=view.context,
    )
    charts.show(figure, f"{side}:formula", alt=_alt(scene), file=f"kv_cache_{scene.key}")
    st.table(_table(view, scene))
    prose.say("\n".join(f"- {_why(formula)}" for formula in _formulas(scene)))
    for sentence in (_units(view, scene), *limitations(view, scene)):
        prose.say(sentence)


def _curves(view: View, scene: Scene) -> dict[str, np.ndarray]:
    config = scene.preset.config
    return {
        formula.short: np.array(
            [scene.bytes_of(formula.numbers(config), tokens) for tokens in view.contexts]
        )
        for formula in _formulas(scene)
    }


def _table(view: View, scene: Scene) -> "pd.DataFrame":
    config = scene.preset.config
    rows = {
        f"${formula.written}$": (
            count(formula.numbers(config)),
            shown(view, scene.bytes_of(formula.numbers(config), view.context)),
            _off(formula.off(config)),
        )
        for formula in _formulas(scene)
    }
    columns = [
        t("kv_cache.column_numbers"),
        t("kv_cache.column_bytes", tokens=count(view.context)),
        t("kv_cache.column_off"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _off(ratio: float) -> str:
    return t("kv_cache.right") if ratio == 1 else times_in_percent(ratio)


def _why(formula: Formula) -> str:
    said = t(f"kv_cache.formula_{formula.code}")
    return f"${formula.written}$: {said} ({formula.source})"


def _units(view: View, scene: Scene) -> str:
    held = scene.held_bytes(scene.own, view.context)
    return t("kv_cache.two_units", binary=size(held), decimal=size(held, binary=False))


def _alt(scene: Scene) -> str:
    config = scene.preset.config
    said = "; ".join(f"{f.written} {count(f.numbers(config))}" for f in _formulas(scene))
    return t("kv_cache.alt_formula", model=scene.preset.name, held=said)


def data(view: View) -> "pd.DataFrame":
    """Every formula's count and bytes for both models."""
    rows = [
        {
            "model": scene.preset.name,
            "formula": formula.code,
            "written": formula.written,
            "source": formula.source,
            "numbers_per_token_and_layer": (numbers := formula.numbers(scene.preset.config)),
            "over_the_right_one": formula.off(scene.preset.config),
            "context_tokens": view.context,
            "bytes": scene.bytes_of(numbers, view.context),
        }
        for scene in view.scenes
        for formula in _formulas(scene)
    ]
    return pd.DataFrame(rows)
