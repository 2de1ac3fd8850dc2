"""Every head with its scores, and the choice of the models and the head."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.language_model.heads import SCORES, THRESHOLD
from ui.pages.trained_heads import run
from ui.pages.trained_heads.run import FINISHED, VARIANTS
from ui.pages.trained_heads.view import ALONE, AUTO, Side, View, score, variant
from ui.parts import charts, prose
from ui.parts.control import control
from ui.settings.parsers import Setting, one_of, whole
from ui.words.numbers import count, head_name, in_percent
from ui.words.text import listed, parted, t

HEADS = tuple(f"{layer}.{head}" for layer in range(8) for head in range(16))
TABLE = 360  # pixels high
UPRIGHT = 320  # pixels wide: the short names of eight heads stand side by side


def _step(step: int) -> str:
    return t("trained_heads.finished") if step == FINISHED else count(step)


SETTINGS = {
    "th_variant": Setting("mla", one_of(*VARIANTS), "segmented_control"),
    "th_beside": Setting(ALONE, one_of(ALONE, *VARIANTS), "segmented_control", write=variant),
    "th_step": Setting(FINISHED, whole(FINISHED, 10**6), "select_slider", write=_step),
    "th_head": Setting(AUTO, one_of(AUTO, *HEADS), "selectbox", recorded=True),
}


def look(view: View) -> str:
    """Say where to look: how many heads have a name."""
    names = [name for layer in view.scores.names() for name in layer]
    facts = {"named": count(len([name for name in names if name])), "all": count(len(names))}
    return t("trained_heads.look", threshold=in_percent(THRESHOLD), **facts)


def model_control(view: View) -> None:
    """Draw the choice of the model."""
    control("th_variant", shown=view.variant, options=run.variants())


def other_controls(view: View) -> None:
    """Draw the choice of the model beside it, and of the step of the training."""
    others = [code for code in run.variants() if code != view.variant]
    shown = view.beside.variant if view.beside else ALONE
    control("th_beside", shown=shown, options=[ALONE, *others])
    if len(view.steps) > 1:
        control("th_step", shown=view.step, options=view.steps)


def head_control(view: View) -> None:
    """Draw the choice of the head."""
    heads = _named(view)
    control("th_head", shown=f"{view.layer}.{view.head}", options=list(heads), write=heads.get)


def draw(view: View) -> None:
    """Draw every head with its scores, in both models where there are two."""
    places = st.columns(len(view.sides), gap="medium")
    for place, side in zip(places, view.sides, strict=True):
        with place:
            _table(side, titled=len(view.sides) > 1)
    with st.expander(t("trained_heads.meaning")):
        for side in view.sides:
            prose.say(_known(side))
        prose.say("\n".join(f"- {t(f'trained_heads.means_{kind}')}" for kind in SCORES))


def _table(side: Side, *, titled: bool) -> None:
    """Draw the scores of a model's heads; the chosen head's highest one is framed."""
    if titled:
        prose.say(f"**{variant(side.variant)}**")
    found, heads = side.scores, _named(side)
    values = found.table.flatten(0, 1).T.numpy()
    place = side.layer * found.table.shape[1] + side.head
    fig = partial(
        figures.share_map,
        values,
        axes=(t("trained_heads.axis_score"), t("trained_heads.axis_head")),
        name=t("trained_heads.attention"),
        rows=[_row(kind) for kind in found.kinds],
        columns=[head_name(*map(int, code.split("."))) for code in heads],
        cell=(int(values[:, place].argmax()), place),
        height=TABLE,
        words=charts.map_words(),
        width=UPRIGHT,
    )
    frame = pd.DataFrame(values.T, columns=list(found.kinds))
    name = f"scores_{side.variant}" if titled else "scores"
    charts.show(
        fig,
        f"trained_heads:{name}",
        alt=t("trained_heads.alt_table", heads=parted(heads.values())),
        data=lambda: frame.assign(head=list(heads)),
        file=f"trained_heads_{name}.csv",
    )


def _named(side: Side) -> dict[str, str]:
    """Return short name of each head -> its numbers and what it does, in the order of layers."""
    layers, heads, _ = side.scores.table.shape
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    return {f"{layer}.{head}": side.named(layer, head) for layer, head in places}


def _row(kind: str) -> str:
    """Return a score's name where there is little room."""
    return t("trained_heads.row_previous") if kind == "previous" else score(kind)


def _known(side: Side) -> str:
    """Return the heads of a model that have a name, by name."""
    known = {}
    for layer, names in enumerate(side.scores.names()):
        for head, name in enumerate(names):
            known.setdefault(name, []).append(head_name(layer, head))
    known.pop(None, None)
    told = [
        t("trained_heads.of_name", name=score(name), heads=listed(heads))
        for name, heads in known.items()
    ]
    return t("trained_heads.known", heads=parted(told)) if told else t("trained_heads.unknown")
