"""Steps that read what an indexer chooses: what they read, and from when on that is less."""

from functools import partial
from operator import attrgetter

from mla_engine import PRESETS, costs, mechanisms
from mla_engine.config import AttentionConfig
from ui.engine import shared_cache
from ui.pages.decode.uneven import asked_of_tokens
from ui.pages.decode.view import View
from ui.parts.questions import Question
from ui.parts.ways import MOST
from ui.words.numbers import count, tied_size, times
from ui.words.text import t, variant_name


@shared_cache.cached
def reads_less(one: AttentionConfig, other: AttentionConfig) -> int | None:
    """Return from how many cached tokens on a step of one layer reads less than of another."""
    steps = (partial(costs.decode, config) for config in (one, other))
    return costs.lighter_from(*steps, (one, other), attrgetter("cache_read_bytes"), MOST)


def lead(view: View, model: str) -> tuple[str, str]:
    """Return what a step reads with an indexer and without, and from when on that is less."""
    dsa, mla = view.read_bytes(view.choosing), view.read_bytes("mla_absorbed")
    line = t(
        "decode.line_words_indexed" if view.writer else "decode.line_indexed",
        model=model,
        tokens=count(view.context),
        read=_reads(view),
        dsa=tied_size(dsa),
        mla=tied_size(mla),
        verdict=_verdict(view, dsa, mla),
    )
    return tied_size(dsa), line


def _reads(view: View) -> str:
    """Return the latents and index keys that a step reads."""
    config = view.ways[view.choosing].config
    every = "all" if view.context <= config.index_topk else "chosen"
    values = {"topk": count(config.index_topk)}
    if not config.has_blocks:
        return t(f"decode.reads_{every}", **values)
    values |= {"pools": count(config.pooling), "blocks": count(config.chosen_blocks)}
    return t(f"decode.reads_{every}_blocks", **values)


def _verdict(view: View, dsa: float, mla: float) -> str:
    """Return whether a step reads less with an indexer, and from when on."""
    turn = reads_less(view.ways[view.choosing].config, view.latent)
    name = variant_name(view.choosing)
    if turn is None:
        return t("decode.reads_never", name=name)
    if dsa < mla:
        return t("decode.reads_less", ratio=times(mla / dsa), turn=count(turn), name=name)
    return t("decode.reads_more", turn=count(turn), name=name)


def question(view: View) -> Question | None:
    """Ask from how many tokens on a step reads less; None where it never does."""
    config = view.ways[view.choosing].config
    turn, values = reads_less(config, view.latent), {"topk": count(config.index_topk)}
    if config.has_blocks:
        why = t("decode.guess_blocks_why", **values, pools=count(config.pooling))
    else:
        why = t("decode.guess_indexed_why", **values)
    asks = t("decode.guess_indexed", name=variant_name(view.choosing))
    return turn and asked_of_tokens(view, asks, turn, why)


def at_length(view: View) -> str:
    """Return what a step reads with and without an indexer at the end of a published context."""
    own, mechanism = PRESETS.get(view.model.preset), mechanisms.of_variant(view.choosing)
    published = [one for one in PRESETS.values() if mechanisms.of(one.config) is mechanism]
    preset = own if own in published else published[0]
    dense = mechanisms.variants()["mla_absorbed"].config
    layers = (preset.config, dense(mechanisms.sizes_of(preset.config), preset.config))
    dsa, mla = (
        preset.n_caches * costs.decode(one, preset.max_context).cache_read_bytes for one in layers
    )
    values = {
        "name": preset.name,
        "tokens": count(preset.max_context),
        "layers": count(preset.n_caches),
        "topk": count(preset.config.index_topk),
        "dsa": tied_size(dsa),
        "mla": tied_size(mla),
        "ratio": times(mla / dsa),
    }
    if preset.config.has_blocks:
        return t("decode.at_length_blocks", pools=preset.config.pooling, **values)
    return t("decode.at_length", **values)
