"""The page's statement: title, what caches hold or a step reads, what to watch, and a question."""

from mla_engine import PRESETS, costs, mechanisms
from ui.pages.decode import choosing, uneven
from ui.pages.decode.view import View
from ui.parts.questions import Question, decades
from ui.parts.ways import INDEXED, of_model, successor
from ui.sources import checkpoint
from ui.words.numbers import count, tied_size, times
from ui.words.text import t, variant_name

LARGE = "deepseek-v3"  # where the choice between the same two caches is told in real units
BF16_BYTES = 2


def title() -> str:
    """Return the page's point: what every step reads."""
    chosen = successor()
    return t(f"decode.title_{chosen}" if chosen else "decode.title")


def lead(view: View) -> tuple[str, str]:
    """Return what the chosen variant holds and what to compare with, or what a step of it reads."""
    loaded = view.model.checkpoint
    model = checkpoint.title(loaded) if loaded else of_model(view.model)
    if view.choosing:
        return choosing.lead(view, model)
    if view.uneven:
        return uneven.lead(view, model)
    mha, mla = view.held_bytes("mha"), view.held_bytes("mla_absorbed")
    values = {"model": model, "tokens": count(view.tokens), "mla": tied_size(mla)}
    line = "line_words" if view.writer else "line"
    if code := view.in_full:
        values |= {"name": variant_name(code), "all": count(view.n_heads)}
        values["heads"] = count(view.ways[code].config.n_kv_heads)
        return tied_size(view.held_bytes(code)), t(f"decode.{line}_in_full", **values)
    return tied_size(mla), t(f"decode.{line}", mha=tied_size(mha), ratio=times(mha / mla), **values)


def look(view: View) -> str:
    """Return the sentence on what to watch."""
    if view.uneven:
        return t(f"decode.look_{successor()}")
    if view.model.variant == INDEXED:
        return t("decode.look_words_indexed" if view.writer else "decode.look_indexed")
    return t("decode.look_words" if view.writer else "decode.look")


def question(view: View) -> Question | None:
    """Return the question of the chosen variant; None of an indexer that never saves reading."""
    if view.choosing:
        return choosing.question(view)
    if view.uneven:
        return uneven.question(view)
    return decades(
        "decode",
        t("decode.guess"),
        view.multiply_adds("mla_each") / view.multiply_adds("mla_absorbed"),
        (1, 1000),
        say=times,
        why=t("decode.guess_why"),
        hides=("dec_table",),
    )


def at_large(view: View) -> str:
    """Return what the same choice means in a published model; empty where one is shown."""
    if view.choosing:
        return choosing.at_length(view)
    if not view.writer:
        return ""
    preset = PRESETS[LARGE]
    config = mechanisms.variants()["mha"].config(mechanisms.sizes_of(preset.config), preset.config)
    mla, mha = (
        preset.n_layers * costs.cache_bytes_per_token(one, BF16_BYTES)
        for one in (preset.config, config)
    )
    values = {"mla": tied_size(mla), "mha": tied_size(mha), "ratio": times(mha / mla)}
    return t("decode.at_large", name=preset.name, layers=count(preset.n_layers), **values)
