"""What the page says: its title, and the way of a number in tables and sentences."""

import streamlit as st

from mla_engine import figures
from mla_engine.figures import symbol_html
from mla_engine.symbols import SYMBOLS
from ui.pages.attention_maps import block_words, pooled_words, trained_words
from ui.pages.attention_maps.terms import WRITTEN, Part, Terms
from ui.pages.attention_maps.view import (
    View,
    has_blocks,
    has_entries,
    pools_nothing,
    reads_a_sentence,
)
from ui.parts import prose, weights
from ui.parts.maps import axes
from ui.parts.maps import pooled_words as entries
from ui.parts.maps.view import Maps, short
from ui.parts.maps.words import large, shown
from ui.words.numbers import count, digits, heads, number
from ui.words.text import safe, t, tensor, tooltip


def say(view: View, key: str) -> str:
    """A text of the page with the facts of the chosen cell, safe as Markdown."""
    return t(f"attention_maps.{key}", **shown(view.maps))


def title() -> str:
    """Of a trained model where a head looks; what entries stand in for; else that heads differ."""
    if reads_a_sentence():
        return t("attention_maps.title_trained")
    if pools_nothing():
        return t("attention_maps.title_window")
    kind = "_pooled" if has_entries() else "_blocks" if has_blocks() else ""
    return t(f"attention_maps.title{kind}")


def lead(view: View) -> tuple[str, str]:
    """A trained layer's look; else at how many places the heads look most, asked by a word."""
    if view.trained:
        return trained_words.lead(view.maps, view.look)
    if view.maps.run.sinks:
        return pooled_words.lead(view.maps)
    if has_blocks():
        return block_words.lead(view.maps)
    run, favourites = view.maps.run, view.favourites
    facts = shown(view.maps) | {"heads": heads(len(run.heads)), "n": count(len(favourites))}
    facts["favourite"] = safe(short(run.words[favourites[0]]))
    one = len(favourites) == 1
    number = t(f"attention_maps.{'one_place' if one else 'places'}", n=facts["n"])
    line = t(f"attention_maps.{'line_one' if one else 'line'}", **facts)
    drawn = t("attention_maps.drawn") if isinstance(run.origin, int) else ""
    return number, line + drawn


def framed(view: View) -> str:
    """Above the large map: the number of the framed cell, and how the map is read."""
    return say(view, "framed") if view.trained else large(view.maps)


def under(view: View) -> list[str]:
    """Below the large map: of a trained layer, what makes the look; of entries, what adds up."""
    if view.maps.run.sinks:
        return entries.under(view.maps)
    return trained_words.under(view.maps, view.trained, view.look) if view.trained else []


def look(view: View) -> str:
    """What to look at: whether equal words enter a layer as equal vectors."""
    if view.trained:
        return ""  # it is said below the map, which then stands higher
    if view.maps.run.sinks:
        return pooled_words.look(view.maps)
    if has_blocks():
        return block_words.look(view.maps)
    if not view.equal_words:
        return t("attention_maps.look_unequal")
    return t("attention_maps.look" if view.maps.parts else "attention_maps.look_one")


def parts(view: View) -> str:
    """What the logits are made of."""
    alone = "no_split"
    if view.maps.run.sinks:
        alone = "one_softmax" if view.maps.run.config.pooling else "one_softmax_window"
    said = say(view, "split" if view.maps.parts else alone)
    return said + weights.mark(view.maps.run.origin)


def origin(view: View) -> None:
    """Where the chosen cell's number comes from, written out."""
    found = view.terms
    tables = st.container(key="maps_terms")
    for column, part in zip(tables.columns(2), found.parts, strict=False):
        with column:
            st.html(table(part))
            prose.say(scaled(part, found))
    if not found.parts:
        prose.say(t("attention_maps.of_sink", logit=number(found.logit)))
    for line in steps(found, view.maps):
        prose.say(line)


def table(part: Part) -> str:
    """The products as an HTML table: a row each for those written out, the rest, the sum."""
    names = ("", _name(part.left_code), _name(part.right_code), "×")
    rows = [
        (str(n), number(part.left[n]), number(part.right[n]), number(part.products[n]))
        for n in range(min(WRITTEN, part.left.size))
    ]
    if part.left.size > WRITTEN:
        more = t("attention_maps.more_terms", count=count(part.left.size - WRITTEN))
        rows.append((more, "", "", number(part.rest)))
    rows.append((t("attention_maps.sum"), "", "", f"<b>{number(part.dot)}</b>"))
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="terms"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _name(code: str) -> str:
    return f'<span class="tensor {SYMBOLS[code].role}"{tooltip(code)}>{symbol_html(code)}</span>'


def scaled(part: Part, found: Terms) -> str:
    """The sentence under a table: sum times scale is this part of the logit."""
    value = found.before_cap if part.code == "scores" else part.value
    return t(
        "attention_maps.scaled",
        dot=number(part.dot),
        scale=number(found.scale),
        name=_name(part.code),
        value=number(value),
    )


def steps(found: Terms, maps: Maps) -> list[str]:
    """The sentences from the parts to the probability."""
    lines = []
    if len(found.parts) > 1:
        content, position = (number(part.value) for part in found.parts)
        values = {"content": content, "position": position, "logit": number(found.logit)}
        lines.append(t("attention_maps.added", **values))
    if found.cap:
        values = {"cap": number(found.cap), "before": number(found.before_cap)}
        lines.append(t("attention_maps.capped", **values, logit=number(found.logit)))
    if found.visible:
        return [*lines, _softmax(found, "softmax_pooled" if maps.run.sinks else "softmax")]
    return [*lines, _hidden(found, maps)]


def _hidden(found: Terms, maps: Maps) -> str:
    """Why the query does not see the key."""
    plain = shown(maps)
    words = {name: plain[name] for name in ("query", "target")}
    entry = "_entry" if maps.key >= len(maps.run.words) else ""
    if found.window:
        return t("attention_maps.hidden_window", window=count(found.window), **words)
    if found.topk and maps.run.blocks:
        return t("attention_maps.hidden_choice_block", **block_words.facts(maps))
    if found.topk:
        return t(f"attention_maps.hidden_choice{entry}", k=count(found.topk), **words)
    return t(f"attention_maps.hidden{entry}", **words)


def _softmax(found: Terms, key: str) -> str:
    return t(
        f"attention_maps.{key}",
        logit=number(found.logit),
        peak=number(found.peak),
        temperature=number(found.temperature),
        exponential=number(found.exponential),
        total=number(found.total),
        count=count(found.n_visible),
        share=number(found.share),
    )


def shape(view: View) -> str:
    """The name of the tensor below the maps, and how many numbers it has."""
    values = {"name": tensor(view.tensor), "head": count(view.maps.head)}
    said = t("attention_maps.tensor_shape", shape=_sides(view), **values)
    run = view.maps.run
    for letter, place in run.cut(view.tensor, view.maps.head).items():
        axis = axes.named(run.config, letter)
        said += " " + t("attention_maps.tensor_cut", axis=axis, place=count(place))
    return said + weights.mark(view.maps.run.origin)


def alt(view: View) -> str:
    """Its picture in words."""
    largest = digits(figures.shared_limit(view.matrix))
    return t("attention_maps.alt_tensor", name=view.tensor, shape=_sides(view), limit=largest)


def formula(view: View) -> str:
    """How it arises, as LaTeX."""
    symbol = SYMBOLS[view.tensor]
    made = symbol.step(view.maps.run.form).formula
    return f"{symbol.latex} = {made}" if made else symbol.latex


def _sides(view: View) -> str:
    return " × ".join(count(side) for side in view.matrix.shape)
