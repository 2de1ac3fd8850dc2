"""The words of the decode page: title, sentences, alternative text and question, with numbers."""

from collections.abc import Mapping

from mla_engine import PRESETS, costs, mechanisms
from ui.engine import real_layer, trained
from ui.pages.decode import uneven
from ui.pages.decode.run import Step
from ui.pages.decode.view import View
from ui.parts import measure
from ui.parts.questions import Question, decades, tokens
from ui.parts.ways import CHOOSING, INDEXED, joined, label, listed, of_model, successor
from ui.settings.parsers import MOST_WORDS
from ui.words.numbers import count, digits, tied_size, times
from ui.words.text import safe, sentences, t, variant_name

LATENT = ("mla_kv", "mla_each", "mla_absorbed")
LARGE = "deepseek-v3"  # where the choice between the same two caches is told in real units
BF16_BYTES = 2
LONGEST = 10**6  # tokens at the end of a question's scale
LARGE_CHOOSING = dict(zip(CHOOSING, ("deepseek-v3.2-exp", "glm-5.3-flash"), strict=True))
"""Where the published lengths of a choice are told."""


def title() -> str:
    """The page's point: what every step reads."""
    chosen = successor()
    return t(f"decode.title_{chosen}" if chosen else "decode.title")


def lead(view: View) -> tuple[str, str]:
    """A statement with live numbers: what MHA and MLA hold, or of what came after MLA its point."""
    if view.choosing:
        return _lead_choosing(view)
    if view.uneven:
        return uneven.lead(view, _model(view))
    mha, mla = view.held_bytes("mha"), view.held_bytes("mla_absorbed")
    line = t(
        "decode.line_words" if view.writer else "decode.line",
        model=_model(view),
        tokens=count(view.tokens),
        mha=tied_size(mha),
        mla=tied_size(mla),
        ratio=times(mha / mla),
    )
    return tied_size(mla), line


def _model(view: View) -> str:
    """A real layer by its title, or the chosen sizes by name."""
    loaded = view.model.layer
    return real_layer.title(loaded) if loaded else of_model(view.model)


def _lead_choosing(view: View) -> tuple[str, str]:
    """Return what a step reads with an indexer and without, and from when on that is less."""
    dsa, mla = view.read_bytes(view.choosing), view.read_bytes("mla_absorbed")
    line = t(
        "decode.line_words_indexed" if view.writer else "decode.line_indexed",
        model=_model(view),
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
    values, pooling = {"topk": count(config.index_topk)}, vars(config).get("pooling")
    if not pooling:
        return t(f"decode.reads_{every}", **values)
    values |= {"pools": count(pooling), "blocks": count(config.chosen_blocks)}
    return t(f"decode.reads_{every}_blocks", **values)


def _verdict(view: View, dsa: float, mla: float) -> str:
    turn, name = view.reads_less(), variant_name(view.choosing)
    if turn is None:
        return t("decode.reads_never", name=name)
    if dsa < mla:
        return t("decode.reads_less", ratio=times(mla / dsa), turn=count(turn), name=name)
    return t("decode.reads_more", turn=count(turn), name=name)


def counted(view: View) -> str:
    """Return what is counted, and what is measured on which device."""
    heads, every = count(view.heads), count(view.n_heads)
    return t("decode.counted", all=every, heads=heads, machine=measure.here())


def look(view: View) -> str:
    """Return the sentence on what to watch."""
    if view.uneven:
        return t(f"decode.look_{successor()}")
    if view.model.variant == INDEXED:
        return t("decode.look_words_indexed" if view.writer else "decode.look_indexed")
    return t("decode.look_words" if view.writer else "decode.look")


def of_step(view: View) -> str:
    """Return the table's caption."""
    key = "decode.of_word" if view.writer else "decode.of_step"
    return t(key, step=count(view.step), word=safe(view.new))


def whose(view: View) -> str:
    """Name the ways that have a real layer's weights; empty without one."""
    loaded = view.model.layer
    if not loaded:
        return ""
    real, seeded = _by_weights(view)
    return t("decode.whose", name=real_layer.name(loaded), real=real, seeded=seeded)


def _by_weights(view: View) -> tuple[str, str]:
    """The ways with trained or real weights, and those with seeded ones."""
    own, seeded = [], []
    for code, way in view.ran.items():
        named = seeded if isinstance(view.model.origin(way.config), int) else own
        named.append(label(view.ways, code))
    return joined(own), joined(seeded)


def written(view: View) -> str:
    """Whose words a text grows by, and beyond what it was never trained; empty without any."""
    if not view.writer:
        return ""
    said = [t("decode.written_by", writer=view.writer.upper())]
    if INDEXED in trained.readable():
        said.append(t("decode.indexed"))
    if seeded := _by_weights(view)[1]:
        said.append(t("decode.untrained", ways=seeded))
    most = trained.load(view.writer).config.max_context
    if view.most_tokens > most:
        limits = {"most": count(most), "limit": count(MOST_WORDS)}
        said.append(t("decode.beyond", words=count(view.most_tokens), **limits))
    return sentences(said)


def at_large(view: View) -> str:
    """Return what the same choice means in a published model; empty where one is shown."""
    if view.choosing:
        return _at_length(view)
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


def _at_length(view: View) -> str:
    """Return what a step reads with and without an indexer at the end of a published context."""
    chosen, of_kind = PRESETS.get(view.model.preset), type(view.ways[view.choosing].config)
    own = chosen and type(chosen.config) is of_kind
    preset = chosen if own else PRESETS[LARGE_CHOOSING[view.choosing]]
    dense = mechanisms.variants()["mla_absorbed"].config
    layers = (preset.config, dense(mechanisms.sizes_of(preset.config), preset.config))
    dsa, mla = (
        preset.n_caches * costs.decode(one, preset.max_context).cache_read_bytes for one in layers
    )
    sizes = {"dsa": tied_size(dsa), "mla": tied_size(mla), "ratio": times(mla / dsa)}
    numbers = (preset.max_context, preset.n_caches, preset.config.index_topk)
    counts = dict(zip(("tokens", "layers", "topk"), map(count, numbers), strict=True))
    if pooling := vars(preset.config).get("pooling"):
        return t("decode.at_length_blocks", name=preset.name, pools=pooling, **counts, **sizes)
    return t("decode.at_length", name=preset.name, **counts, **sizes)


def agreement(taken: Mapping[str, Step]) -> str:
    """Return how closely all forms of MLA agree, as a number."""
    worst = max(taken[code].difference for code in LATENT)
    others = max(step.difference for code, step in taken.items() if code not in LATENT)
    return t("decode.agreement", worst=digits(worst, 1), others=digits(others, 1))


def expand(view: View) -> str:
    """Return how MLA is decoded, and from how many new tokens on the other way is less work."""
    queries = costs.expanding_wins(view.latent, view.context)
    if queries is None:
        return t("decode.never_expand")
    limit = digits(costs.crossover_queries(view.latent))
    return t("decode.expand", queries=count(queries), tokens=count(view.context), limit=limit)


def compared(view: View) -> str:
    """Return why the times are so: what absorbed MLA and MHA do with the heads that are run."""
    mla, mha = (view.cost(code, run=True) for code in ("mla_absorbed", "mha"))
    return measure.compared(mla, mha, view.heads, view.context)


def says(view: View, step: int) -> str:
    """Return how far the decoding is after a step."""
    values = {"step": count(step), "tokens": count(view.prompt + step)}
    if view.writer:
        return t("decode.says_word", word=view.words[view.prompt + step - 1], **values)
    return t("decode.says", **values)


def alt(view: View, step: int) -> str:
    """The blocks after a step in words."""
    held = {code: tied_size(view.held_bytes(code, step)) for code in view.ways}
    tokens = view.prompt + step
    values = {"tokens": count(tokens), "held": listed(view.ways, held)}
    if view.uneven:
        return sentences((t("decode.alt", **values), uneven.alt(view, step)))
    if view.writer:
        return t("decode.alt_words", text=" ".join(view.words[:tokens]), **values)
    return t("decode.alt", **values)


def question(view: View) -> Question | None:
    """Return the question of the chosen variant; None of an indexer that never saves reading."""
    if view.choosing:
        return _choosing(view)
    if view.uneven:
        return _pooled(view) if view.bytes_per_token(view.uneven) else _delta(view)
    return decades(
        "decode",
        t("decode.guess"),
        view.multiply_adds("mla_each") / view.multiply_adds("mla_absorbed"),
        (1, 1000),
        say=times,
        why=t("decode.guess_why"),
        hides=("dec_table",),
    )


def _choosing(view: View) -> Question | None:
    """Ask from how many tokens on a step with an indexer reads less."""
    turn, config = view.reads_less(), view.ways[view.choosing].config
    pools = vars(config).get("pooling", 0)
    values = {"topk": count(config.index_topk)} | ({"pools": count(pools)} if pools else {})
    why = t(f"decode.guess_{'blocks' if pools else 'indexed'}_why", **values)
    asks = t("decode.guess_indexed", name=variant_name(view.choosing))
    return turn and _tokens(view, asks, turn, why)


def _delta(view: View) -> Question:
    """Ask from how many tokens on MLA holds more than the state."""
    asks = t("decode.guess_delta", name=variant_name(view.uneven))
    return _tokens(view, asks, view.outgrown(), t("decode.guess_delta_why"))


def _tokens(view: View, asks: str, turn: int, why: str) -> Question:
    """Ask for a number of tokens that stands in the statement below the title."""
    return decades(
        f"decode_{view.model.variant}",
        asks,
        turn,
        (1, LONGEST),
        say=lambda n: tokens(count(n)),
        why=why,
        hides=("lead",),
    )


def _pooled(view: View) -> Question:
    """Ask how many times as much a token adds to the cache of MLA."""
    block = count(view.ways[view.uneven].config.pooling)
    return decades(
        f"decode_{view.uneven}",
        t("decode.guess_pooled", name=variant_name(view.uneven)),
        view.added_by_mla(),
        (1, 1000),
        say=times,
        why=t("decode.guess_pooled_why", block=block),
        hides=("dec_grows",),
    )
