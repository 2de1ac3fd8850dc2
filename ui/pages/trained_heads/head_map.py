"""The places that the chosen head looks at in an example; its last answer is framed."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.trained_heads import run
from ui.pages.trained_heads.run import Example
from ui.pages.trained_heads.view import View, task
from ui.parts import charts, prose
from ui.parts.control import control
from ui.settings.parsers import Setting, one_of
from ui.words.numbers import TIED, in_percent
from ui.words.text import t

TEXTS = ("recall", "copy", "back", "agreement", "brackets")
SETTINGS = {"th_text": Setting("recall", one_of(*TEXTS), "segmented_control", write=task)}
MAP = 520  # pixels high


def draw(view: View) -> None:
    """Draw the map, and beside it the choice of the example."""
    picture, panel = st.columns([3, 2], gap="large")
    with panel:
        control("th_text")
        prose.say(t("trained_heads.map_words"))
    with picture:
        _map(view)


def _map(view: View) -> None:
    """Draw where the head looks, and say what is framed."""
    shown = run.example(view.model, view.chosen.text)
    attention, (query, key) = shown.maps[view.layer, view.head], _frame(view, shown)
    name = view.named(view.layer, view.head)
    fig = partial(
        figures.attention_map,
        attention,
        shown.words,
        shown.words,
        mask=shown.mask,
        head=name,
        name=t("trained_heads.attention"),
        cell=(query, key),
        height=MAP,
        numbers=False,
        words=charts.map_words(),
    )
    frame = pd.DataFrame(attention, index=shown.words, columns=shown.words)
    text = " ".join(shown.words).replace(" ", TIED)
    charts.show(
        fig,
        "trained_heads:map",
        alt=t("trained_heads.alt_map", head=name, text=text),
        data=frame.reset_index,
        file="trained_heads_map.csv",
    )
    ends = {"asks": shown.words[query], "decides": shown.words[key]}
    said = "frame_bound" if (query, key) in shown.bound else "frame"
    share = in_percent(float(attention[query, key]))
    prose.say(t(f"trained_heads.{said}", share=share, **ends))


def _frame(view: View, shown: Example) -> tuple[int, int]:
    """Return the look that the head is named after: of the last pair asked for, or its answer."""
    query, key = shown.asked[-1]
    bound = [look for look in shown.bound if look[0] == key]
    return bound[0] if bound and view.name == "previous" else (query, key)
