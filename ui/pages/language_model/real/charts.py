"""Below the picture: the guess through all layers, a layer's heads, caches, what it writes on."""

import html
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from kvcount.drawn import drawn
from mla_engine import LatentConfig, costs, figures
from mla_engine.figures.axes import safe as plotly_text
from ui.pages.language_model.bars import height, in_rows
from ui.pages.language_model.real.view import View, said
from ui.parts import charts, links, prose
from ui.settings import state
from ui.settings.page import Link
from ui.sources import whole
from ui.words.numbers import count, share
from ui.words.text import listed, safe, t

QUOTED = 60  # letters of the text in the statement
WAYS = 440  # pixels of the chart, as high as the heads beside it
LETTERS = 12  # of a piece at a chart
MOST_KEYS = 24  # pieces that a head's row shows, the last ones
LATENT_HEADS, ROTARY_PARTS = 4, 2  # DeepSeek-V2: d_c = 4 d_h and d_R = d_h / 2, arXiv 2405.04434


def lead(view: View) -> tuple[str, str]:
    """Return how likely the likeliest next piece is, and after what."""
    piece, probability = view.likeliest[0]
    text = " ".join(view.text.split())
    values = {
        "text": safe(text if len(text) <= 60 else f"…{text[-60:]}"),
        "word": safe(said(piece)),
    }
    return share(probability), t("language_model.line_real", **values)


def guess(view: View) -> None:
    """Draw the probabilities of the likeliest pieces after each layer, and which they are."""
    names = [plotly_text(view.vocabulary[token], LETTERS) for token in view.followed]
    lines = {name: 100 * view.ways[:, n] for n, name in enumerate(names)}
    titles = t("language_model.axis_layers"), t("language_model.axis_probability")
    fig = partial(figures.curves, range(len(view.ways)), lines, titles=titles, height=WAYS)
    first = safe(said(view.vocabulary[view.followed[0]]))
    then = safe(said(view.vocabulary[view.followed[1]]))
    alt = t(
        "language_model.ways_alt", before=then, word=first, share=share(float(view.ways[-1, 0]))
    )
    table = partial(pd.DataFrame, {"after_layers": range(len(view.ways)), **lines})
    charts.show(fig, "lm_ways", alt=alt, data=table, file="guess_by_layer.csv")


def heads(view: View) -> None:
    """Draw where each head of the chosen layer looks from the lit piece, and say the largest."""
    every = view.heads
    first = max(0, every.shape[1] - MOST_KEYS)
    keys = view.words[first : view.path + 1]
    axes = t("language_model.axis_heads"), t("language_model.axis_keys")
    fig = partial(
        figures.share_map,
        every[:, first:],
        axes=axes,
        name=t("language_model.attention_share"),
        rows=[count(head) for head in range(len(every))],
        columns=keys,
    )
    charts.show_map(fig, "lm_heads", alt=look(view))
    prose.say(look(view))


def look(view: View) -> str:
    """Return where the layer's heads look most from the lit piece, beyond the first piece."""
    if not view.path:
        return t("language_model.look_first")
    head, key, most = strongest(view)
    facts = {"head": count(head), "share": share(most), "layer": count(view.layer)}
    words = {"word": safe(said(view.words[view.path])), "target": safe(said(view.words[key]))}
    return t("language_model.look_real", **facts, **words)


def strongest(view: View) -> tuple[int, int, float]:
    """Return the head, the place and the share of the largest look at another than the first."""
    beyond = view.heads[:, 1:]
    head, key = divmod(int(beyond.argmax()), beyond.shape[1])
    return head, key + 1, float(beyond[head, key])


def onward(view: View) -> None:
    """Draw the way to this head's whole map."""
    head, key, _ = strongest(view) if view.path else (0, 0, 1.0)
    cell = {"map_head": head, "map_query": view.path, "map_key": key}
    link = Link("attention_maps", {"text": view.text, "layer": view.layer} | cell)
    st.button(t("language_model.maps_real"), key="lm_maps", on_click=links.follow, args=(link,))


def kept(view: View) -> Mapping[str, int]:
    """Return what a layer keeps of a token: this model, and others of its heads and widths."""
    own = view.model.config.attention
    latent = LatentConfig(
        d_model=own.d_model,
        n_heads=own.n_heads,
        d_head=own.d_head,
        d_latent_kv=LATENT_HEADS * own.d_head,
        d_rope=own.d_head // ROTARY_PARTS,
        rope=own.rope,
    )
    others = {
        "mha": replace(own, n_kv_heads=own.n_heads),
        "own": own,
        "mla": latent,
        "mqa": replace(own, n_kv_heads=1),
    }
    return {code: costs.cache_elements(config) for code, config in others.items()}


def caches(view: View) -> None:
    """Draw what the model keeps of the text beside what others would."""
    own, many = kept(view), view.model.config.n_layers * len(view.ids)
    named = {"groups": count(view.model.config.attention.n_kv_heads)}
    named |= {"heads": count(view.model.config.attention.n_heads)}
    names = [t(f"language_model.kept_{code}", **named) for code in own]
    rows = in_rows(names)
    fig = partial(
        figures.bars,
        rows,
        {t("language_model.cache"): [many * each for each in own.values()]},
        axis=t("language_model.axis_cache"),
        chosen=list(own).index("own"),
        totals=[count(many * each) for each in own.values()],
        height=height(rows),
    )
    told = (f"{name} {count(many * each)}" for name, each in zip(names, own.values(), strict=True))
    alt = t("language_model.held_alt", words=count(len(view.ids)), listed=listed(told))
    table = partial(pd.DataFrame, {"cache": names, "a_token_and_layer": own.values()})
    charts.show(fig, "lm_caches", alt=alt, data=table, file="caches.csv")
    values = {"each": count(own["own"]), "layers": count(view.model.config.n_layers)}
    values |= {"words": count(len(view.ids)), "numbers": count(many * own["own"])}
    latent, half = LATENT_HEADS, ROTARY_PARTS
    prose.note(t("language_model.counted_real", latent=latent, half=half, **values))


def written(view: View) -> None:
    """Draw what the model writes on through its cache, piece by piece."""
    if not view.more:
        return
    bar, ending = st.empty(), st.empty()
    every, stop = count(view.more), partial(state.change, lm_more=0)

    def progress(done: int) -> None:
        if done == 1:
            ending.button(t("language_model.stop"), key="lm_stop", on_click=stop)
        bar.progress(done / view.more, t("language_model.writing", done=count(done), all=every))

    temperature = view.temperature if view.drawn else 0.0
    found = whole.written(view.ids, view.more, temperature, progress=progress)
    bar.empty()
    ending.empty()
    own, every = (view.model.config.text(list(ids)) for ids in (view.ids, view.ids + found))
    more = every[len(own) :]
    parts = (html.escape("\n".join(map(drawn, text.split("\n")))) for text in (view.text, more))
    with st.container(key="lm_written", border=True):
        st.html('<p style="white-space:pre-wrap">{}<strong>{}</strong></p>'.format(*parts))
