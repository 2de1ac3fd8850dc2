"""The guess as it forms: a row per token, a lane per depth, with the likeliest guess in it."""

import html
from collections.abc import Sequence

import pandas as pd

from mla_engine.checkpoints.tokens import SPACE
from ui import asset
from ui.pages.language_model.picture import rows
from ui.pages.language_model.real.view import View
from ui.words.numbers import count, share
from ui.words.text import parted, t

LONGEST = 14  # letters of a piece
STRONGEST = 45  # percent of the colour behind a piece of which the model is certain


def drawn(view: View) -> str:
    """The picture as HTML."""
    there = rows(view)
    found = view.guesses(there)
    names = [[view.vocabulary[n] for n in lane] for lane in found.tokens.tolist()]
    shares = found.shares.tolist()
    body = "".join(
        _row(
            view.words[place],
            [(lane[row], of[row]) for lane, of in zip(names, shares, strict=True)],
            lit=place == view.path,
        )
        for row, place in enumerate(there)
    )
    alt = html.escape(told(view))
    return (
        f"<style>{asset('lens.css')}</style>"
        f'<div class="lens_box"><table class="lens" aria-label="{alt}">'
        f"<thead>{_head(view)}</thead><tbody>{body}</tbody></table></div>"
    )


def _head(view: View) -> str:
    *before, _ = view.lanes
    lanes = (t("language_model.after", layers=count(layers)) for layers in before)
    names = [t("language_model.piece"), *lanes, t("language_model.words_out")]
    return "<tr>" + "".join(f'<th scope="col">{name}</th>' for name in names) + "</tr>"


def _row(word: str, lanes: Sequence[tuple[str, float]], *, lit: bool) -> str:
    cells = "".join(
        f'<td style="--share:{STRONGEST * of:.0f}%" title="{html.escape(name)} {share(of)}">'
        f"{_piece(name)}{f'<small>{share(of)}</small>' if lit else ''}</td>"
        for name, of in lanes
    )
    return f'<tr{" class=lit" if lit else ""}><th scope="row">{_piece(word)}</th>{cells}</tr>'


def _piece(name: str) -> str:
    """A piece with a faint sign for its space; a long one is cut."""
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return SPACE if short == SPACE else html.escape(short).replace(SPACE, f"<i>{SPACE}</i>")


def told(view: View) -> str:
    """The lit row in words."""
    found = view.guesses(rows(view))
    row = view.path - rows(view)[0]
    said = (
        t(
            "language_model.guess",
            layers=count(layers),
            word=view.vocabulary[token],
            share=share(of),
        )
        for layers, token, of in zip(
            view.lanes, found.tokens[:, row].tolist(), found.shares[:, row].tolist(), strict=True
        )
    )
    return t("language_model.lens_alt", word=view.words[view.path], listed=parted(said))


def table(view: View) -> pd.DataFrame:
    """Every row and lane with its likeliest piece."""
    there = rows(view)
    found = view.guesses(there)
    lines = [
        (place, view.words[place], layers, view.vocabulary[int(token)], float(of))
        for lane, layers in enumerate(view.lanes)
        for place, token, of in zip(there, found.tokens[lane], found.shares[lane], strict=True)
    ]
    return pd.DataFrame(lines, columns=["place", "piece", "after_layers", "guess", "probability"])
