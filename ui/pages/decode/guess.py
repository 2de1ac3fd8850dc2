"""What the decode page asks: of MLA what expanding costs, of what came after it where it pays."""

from ui.pages.decode.view import View
from ui.parts.guess.question import Guess, decades, tokens
from ui.words.names import kind
from ui.words.numbers import count, times
from ui.words.text import t

LONGEST = 10**6  # tokens at the end of a scale


def question(view: View) -> Guess | None:
    """The question of the chosen variant; None of an indexer that never saves reading."""
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


def _choosing(view: View) -> Guess | None:
    """From how many tokens on a step with an indexer reads less."""
    turn, config = view.reads_less(), view.ways[view.choosing].config
    pools = vars(config).get("pooling", 0)
    values = {"topk": count(config.index_topk)} | ({"pools": count(pools)} if pools else {})
    why = t(f"decode.guess_{'blocks' if pools else 'indexed'}_why", **values)
    asks = t("decode.guess_indexed", name=kind(view.choosing))
    return turn and _tokens(view, asks, turn, why)


def _delta(view: View) -> Guess:
    """From how many tokens on MLA holds more than the state."""
    asks = t("decode.guess_delta", name=kind(view.uneven))
    return _tokens(view, asks, view.outgrown(), t("decode.guess_delta_why"))


def _tokens(view: View, asks: str, turn: int, why: str) -> Guess:
    """A number of tokens that stands in the statement below the title."""
    return decades(
        f"decode_{view.model.variant}",
        asks,
        turn,
        (1, LONGEST),
        say=lambda n: tokens(count(n)),
        why=why,
        hides=("lead",),
    )


def _pooled(view: View) -> Guess:
    """How many times as much a token adds to MLA's cache."""
    block = count(view.ways[view.uneven].config.pooling)
    return decades(
        f"decode_{view.uneven}",
        t("decode.guess_pooled", name=kind(view.uneven)),
        view.added_by_mla(),
        (1, 1000),
        say=times,
        why=t("decode.guess_pooled_why", block=block),
        hides=("dec_grows",),
    )
