"""Formulas in use, and how far off each is for a model."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from kvcount import Placing
from mla_engine import costs
from mla_engine.costs import Formula
from ui.engine import shared_cache
from ui.pages.kv_cache.common import growth, limitations, numbers_of, shown, two_models
from ui.pages.kv_cache.scene import Scene
from ui.pages.kv_cache.view import SIDES, View
from ui.parts import charts, prose
from ui.parts.snippet import config
from ui.settings.page import Functions, Panel, Recipe
from ui.words.numbers import amount, count, size, times, times_in_percent
from ui.words.sources import cited
from ui.words.text import bracketed, named, parted, t, translated

CONTROLS = "kv_context", "kv_layers", "kv_batch", "kv_type", "kv_unit", "kv_log"
RIGHT = "right"  # code of what a layer keeps


def _formulas(scene: Scene) -> tuple[Formula, ...]:
    """The formulas for the model's own layer, the right one first."""
    return costs.formulas(scene.preset.config)


def _held(scene: Scene, formula: Formula, tokens: int) -> float:
    """Bytes that a formula gives; the right one knows what does not grow, too."""
    if formula.code == RIGHT:
        return scene.held_bytes(scene.own, tokens)
    return scene.bytes_of(formula.numbers(scene.preset.config), tokens)


def _off(view: View, scene: Scene, formula: Formula) -> float:
    if formula.code == RIGHT:
        return 1
    return _held(scene, formula, view.context) / scene.held_bytes(scene.own, view.context)


def title(_view: View) -> str:
    """The point of the picture."""
    return t("kv_cache.title_formula")


def lead(view: View) -> tuple[str, str]:
    """The left model's right count, and the range of the others."""
    scene = view.scenes[0]
    right, *wrong = _formulas(scene)
    off = sorted(_off(view, scene, formula) for formula in wrong)
    values = {"model": scene.preset.name, "low": times(off[0]), "high": times(off[-1])}
    if not scene.uneven:
        numbers = amount(right.numbers(scene.preset.config))
        line = t("kv_cache.line_formula", numbers=numbers, **values)
        return t("kv_cache.numbers", n=numbers), line
    values |= {"own": shown(view, _held(scene, right, view.context)), "tokens": count(view.context)}
    key = "line_formula_held" if len(off) > 1 else "line_formula_one"
    return values["own"], t(f"kv_cache.{key}", **values)


def look(_view: View) -> str:
    """Say what to look at."""
    return t("kv_cache.look_formula")


def _draw(view: View, scene: Scene, side: str) -> None:
    """Every formula as a line, the right one solid, how far off each is and where it is from."""
    figure = growth(view, scene, _curves, roles=range(len(_formulas(scene))))
    charts.show(figure, f"{side}:formula", alt=_alt(scene), file=f"kv_cache_{scene.key}")
    st.table(_table(view, scene))
    prose.say("\n".join(f"- {_why(formula)}" for formula in _formulas(scene)))
    for sentence in (*_misread(scene), _units(view, scene), *limitations(view, scene)):
        prose.say(sentence)


def _name(formula: Formula) -> str:
    """Return the name of its line."""
    return translated(formula.named) if formula.named else formula.short


@shared_cache.cached(key=lambda view, scene: (scene, view.contexts, view.language))
def _curves(view: View, scene: Scene) -> dict[str, np.ndarray]:
    """Return the bytes that every formula gives [context]."""
    return {
        _name(formula): np.array([_held(scene, formula, tokens) for tokens in view.contexts])
        for formula in _formulas(scene)
    }


def _table(view: View, scene: Scene) -> pd.DataFrame:
    rows = {
        f"${formula.written}$": (
            _numbers(scene, formula),
            shown(view, _held(scene, formula, view.context)),
            _how_far(_off(view, scene, formula)),
        )
        for formula in _formulas(scene)
    }
    columns = [
        t("kv_cache.column_numbers"),
        t("kv_cache.column_bytes", tokens=count(view.context)),
        t("kv_cache.column_off"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _numbers(scene: Scene, formula: Formula) -> str:
    """Write its count of a token; the right one with what does not grow."""
    config = scene.preset.config
    if scene.uneven and formula.code == RIGHT:
        return numbers_of(config)
    return amount(formula.numbers(config))


def _how_far(ratio: float) -> str:
    return t("kv_cache.right") if ratio == 1 else times_in_percent(ratio)


def _why(formula: Formula) -> str:
    if not formula.forgets:
        said = t(f"kv_cache.formula_{formula.code}")
        return named(f"${formula.written}$", bracketed(said, cited(formula.source)))
    return t(
        "kv_cache.forgets",
        name=_name(formula),
        formula=formula.written,
        model=formula.model,
        forgets=translated(formula.forgets),
        source=cited(formula.source),
    )


def _misread(scene: Scene) -> list[str]:
    """Return the sentences on wrong figures of how much a step reads of such a cache."""
    return [
        t(
            "kv_cache.misread",
            formula=one.formula,
            model=one.published.name,
            ratio=times(one.ratio),
            forgets=translated(one.forgets),
            source=cited(one.source),
        )
        for one in costs.mistakes(scene.preset.config)
        if one.measure == "read"
    ]


def _units(view: View, scene: Scene) -> str:
    held = scene.held_bytes(scene.own, view.context)
    return t("kv_cache.two_units", binary=size(held), decimal=size(held, binary=False))


def _alt(scene: Scene) -> str:
    said = parted(f"{f.written} {_numbers(scene, f)}" for f in _formulas(scene))
    return t("kv_cache.alt_formula", model=scene.preset.name, held=said)


def data(view: View) -> pd.DataFrame:
    """Every formula's count and bytes for both models."""
    rows = [
        {
            "model": scene.preset.name,
            "formula": formula.code,
            "written": formula.written,
            "source": formula.source,
            "numbers_per_token_and_layer": formula.numbers(scene.preset.config),
            "over_the_right_one": _off(view, scene, formula),
            "context_tokens": view.context,
            "bytes": _held(scene, formula, view.context),
        }
        for scene in view.scenes
        for formula in _formulas(scene)
    ]
    return pd.DataFrame(rows)


def code(_view: View) -> Functions:
    """Return the functions of the engine that ran."""
    return costs.formulas, Placing.held_bytes


def snippet(view: View) -> Recipe:
    """Return the snippet that makes the headline's numbers."""
    scene = view.scenes[0]
    return "formula", {
        "config": config(scene.preset.config, scene.key),
        "tokens": view.context,
        "caches": scene.n_caches,
        "batch": scene.batch,
        "width": scene.width,
        "type": scene.dtype,
    }


PANEL = Panel(
    name="formula",
    settings=(*SIDES, *CONTROLS),
    shown={"kv_view": "formula"},
    title=title,
    lead=lead,
    look=look,
    draw=partial(two_models, _draw, CONTROLS),
    data=data,
    code=code,
    snippet=snippet,
)
