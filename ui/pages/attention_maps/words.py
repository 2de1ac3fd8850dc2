"""The sentences about a map by the kind of its layer: title, lead, what to look at."""

from ui.pages.attention_maps import real, trained
from ui.pages.attention_maps.view import (
    View,
    has_blocks,
    has_entries,
    pools_nothing,
    reads_a_sentence,
)
from ui.parts import prose
from ui.parts.maps.view import Maps, short
from ui.parts.maps.words import (
    block_facts,
    columns_read,
    large,
    pooled_facts,
    pooled_kind,
    pooled_look,
    pooled_under,
    shown,
    sink_under,
)
from ui.sources import Drawn
from ui.sources.model import present
from ui.sources.small_model import AS_TRAINED
from ui.words.numbers import count, heads
from ui.words.text import safe, sentences, t


def say(view: View, key: str) -> str:
    """A text of the page with the facts of the chosen cell, safe as Markdown."""
    return t(f"attention_maps.{key}", **shown(view.maps))


def title() -> str:
    """Return the page's title, by the kind of layer."""
    if reads_a_sentence() or (AS_TRAINED.reads() and present().checkpoint):
        return t("attention_maps.title_trained")
    if pools_nothing():
        return t("attention_maps.title_window")
    kind = "_pooled" if has_entries() else "_blocks" if has_blocks() else ""
    return t(f"attention_maps.title{kind}")


def lead(view: View) -> tuple[str, str]:
    """A trained layer's look; else at how many places the heads look most, asked by a word."""
    if view.trained:
        return trained.lead(view.maps, view.look)
    if view.own:
        return real.lead(view.maps, view.look)
    if view.maps.run.pooled:
        return _lead_pooled(view.maps)
    if has_blocks():
        return _lead_blocks(view.maps)
    run, favourites = view.maps.run, view.favourites
    facts = shown(view.maps) | {"heads": heads(len(run.heads)), "n": count(len(favourites))}
    facts["favourite"] = safe(short(view.maps.columns[favourites[0]]))
    one = len(favourites) == 1
    number = t(f"attention_maps.{'one_place' if one else 'places'}", n=facts["n"])
    line = t(f"attention_maps.{'line_one' if one else 'line'}", **facts)
    drawn = t("attention_maps.drawn") if isinstance(run.source, Drawn) else ""
    return number, line + drawn


def _lead_pooled(maps: Maps) -> tuple[str, str]:
    """Return how many columns the chosen word reads in place of all words up to it.

    Of a text too short for it to read fewer, how many it reads of any.
    """
    n, seen = sum(columns_read(maps)), maps.query + 1
    said = pooled_facts(maps) | {"seen": count(seen), "n": count(n)}
    number = "reads" if n < seen else f"short_{pooled_kind(maps)}"
    line = t(f"attention_maps.line_{pooled_kind(maps)}", **said)
    return t(f"attention_maps.{number}", **said), line


def _lead_blocks(maps: Maps) -> tuple[str, str]:
    """Return how many words the chosen word reads in place of all up to it.

    Of a text too short for it to read fewer, how many it reads of any.
    """
    said, config = block_facts(maps), maps.run.config
    fewer = maps.mask[maps.query].sum() <= maps.query
    of_own = "" if (maps.query + 1) % config.pooling else "_full"
    number = t(f"attention_maps.{'reads_words' if fewer else 'short_blocks'}", **said)
    return number, t(f"attention_maps.line_blocks{of_own}", **said)


def look(view: View) -> str:
    """Return the sentence on what to look at."""
    if view.trained or view.own:
        return ""  # it is said below the map, which then stands higher
    if view.maps.run.pooled:
        return _look_pooled(view.maps)
    if has_blocks():
        return _look_blocks(view.maps)
    if not view.equal_words:
        return t("attention_maps.look_unequal")
    return t("attention_maps.look" if view.maps.parts else "attention_maps.look_one")


def _look_pooled(maps: Maps) -> str:
    """Return what the columns stand for and, with random weights, that their choice is noise."""
    if isinstance(maps.run.source, Drawn) and maps.run.entries:
        return sentences((pooled_look(maps), t(f"attention_maps.noise_{pooled_kind(maps)}")))
    return pooled_look(maps)


def _look_blocks(maps: Maps) -> str:
    """Return the sentence on the patterns of hidden cells."""
    if not maps.run.blocks:
        return t("attention_maps.look_no_block", **block_facts(maps))
    said = t("attention_maps.look_blocks", **block_facts(maps))
    drawn = isinstance(maps.run.source, Drawn)
    return sentences((said, t("attention_maps.noise_blocks"))) if drawn else said


def framed(view: View) -> str:
    """Above the large map: the number of the framed cell, and how the map is read."""
    if not (view.trained or view.own):
        return large(view.maps)
    words, maps = trained.spoken(view.maps), view.maps
    cell = {"query": words[maps.query], "target": words[maps.key]}
    cell = {name: safe(short(word)) for name, word in cell.items()}
    return t("attention_maps.framed", **shown(maps) | cell)


def under(view: View) -> list[str]:
    """Below the large map: of a trained layer, what makes the look; beside a sink, what adds up."""
    if view.maps.run.sinks:
        return (pooled_under if view.maps.run.pooled else sink_under)(view.maps)
    if view.own:
        return real.under(view.maps)
    return trained.under(view.maps, view.trained, view.look) if view.trained else []


def parts(view: View) -> str:
    """Return the sentence on the parts of the logits."""
    alone = "no_split"
    if view.maps.run.sinks:
        words = not view.maps.run.pooled
        kind = "_sink" if words else "" if view.maps.run.config.pooling else "_window"
        alone = f"one_softmax{kind}"
    said = say(view, "split" if view.maps.parts else alone)
    return said + prose.weights_mark(view.maps.run.source)
