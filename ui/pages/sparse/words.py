"""What the page sparse says in words."""

from mla_engine import PRESETS
from mla_engine.language_model.sparse import RULES
from ui.pages.sparse import run
from ui.pages.sparse.published import KEY, Published
from ui.pages.sparse.view import View
from ui.words.numbers import TIED, count, fixed, share, size
from ui.words.text import listed, safe, sentences, t


def percent(part: float) -> str:
    """A share of 1 with a decimal: so many answers are counted."""
    return t("common.percent", value=fixed(100 * part, 1)).replace(" ", TIED)


def lead(view: View) -> tuple[str, str]:
    """The statement on top: what is still right with so few keys."""
    most = count(view.questions.tokens.shape[1])
    facts = {"keys": count(view.keys), "most": most, "whole": percent(view.whole.right)}
    return percent(view.asked.right), t("sparse.line", **facts)


def rule(code: str) -> str:
    """A rule, as the chart names it."""
    return t(f"sparse.rule_{code}")


def word(view: View, place: int) -> str:
    """A word of the text in quotes."""
    return t("sparse.word", word=safe(view.words[place]))


def under(view: View) -> str:
    """What the choice leaves out for this query, and what that does to the next word."""
    lost = float(view.reading.left_out[view.layer, view.query])
    facts = {"query": word(view, view.query), "layer": count(view.layer), "seen": count(view.seen)}
    if view.seen <= view.keys:
        said = t("sparse.nothing_left", **facts)
    else:
        said = t(
            "sparse.left",
            kept=percent(1 - lost),
            lost=percent(lost),
            keys=count(view.keys),
            **facts,
        )
    return sentences((said, _next(view)))


def _next(view: View) -> str:
    few, whole = (_expected(view, one) for one in (view.reading, view.dense))
    return t("sparse.next", few=few[0], p=few[1], whole=whole[0], q=whole[1])


def _expected(view: View, reading: run.Reading) -> tuple[str, str]:
    said = view.trained.config.words[reading.likeliest[view.query]]
    return t("sparse.word", word=safe(said)), share(float(reading.probability[view.query]))


def drawn(view: View) -> str:
    """That not all keys are drawn, where it is so."""
    shown = len(view.drawn)
    if shown == view.seen:
        return ""
    return t("sparse.drawn", drawn=count(shown), all=count(view.seen))


def asked(view: View) -> str:
    """How much was asked, what is left out on average, and what the rules are."""
    left = [percent(one) for one in view.asked.left_out]
    facts = {"texts": len(view.questions.tokens), "answers": len(view.questions.answer)}
    facts = {name: count(number) for name, number in facts.items()}
    layers = listed(t("sparse.of_layer", layer=count(i), left=one) for i, one in enumerate(left))
    return sentences((t("sparse.asked", **facts), t("sparse.average", layers=layers)))


def alt_keys(view: View) -> str:
    """The picture of the keys in words."""
    reading, places = view.reading, view.drawn
    index, heads, chosen = (view.row(one) for one in (reading.index, reading.heads, reading.chosen))
    each = "; ".join(
        t(
            f"sparse.alt_{'read' if chosen[place] else 'left'}_key",
            word=view.words[place],
            index=share(float(index[place])),
            heads=share(float(heads[place])),
        )
        for place in places
    )
    return t("sparse.alt_keys", query=view.words[view.query], each=each)


def alt_answers(view: View) -> str:
    """Right answers by rule in words, at the chosen number of keys."""
    each = "; ".join(f"{rule(code)} {percent(run.asked(view.keys, code).right)}" for code in RULES)
    return t("sparse.alt_answers", keys=count(view.keys), each=each)


def published(shown: Published) -> str:
    """What is stored and read at a published model's sizes."""
    config = shown.indexed
    sizes = {
        "read": shown.read(config),
        "dense": shown.read(shown.dense),
        "stored": shown.stored(config),
        "before": shown.stored(shown.dense),
    }
    facts = {name: size(n_bytes) for name, n_bytes in sizes.items()}
    numbers = {
        "context": shown.context,
        "cross": shown.cross,
        "index": config.d_index,
        "latent": config.d_latent_kv + config.d_rope,
        "topk": config.index_topk,
        "layers": PRESETS[KEY].n_layers,
    }
    return t("sparse.published", **facts, **{name: count(n) for name, n in numbers.items()})


def alt_read(shown: Published) -> str:
    """The bytes read in words."""
    facts = {"read": size(shown.read(shown.indexed)), "dense": size(shown.read(shown.dense))}
    return t("sparse.alt_read", context=count(shown.context), cross=count(shown.cross), **facts)
