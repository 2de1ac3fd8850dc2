"""The chart of any tensor of the run."""

from functools import partial

from mla_engine import figures
from mla_engine.figures import symbol_html
from mla_engine.late import Late
from ui.pages.attention_maps import words
from ui.pages.attention_maps.view import View
from ui.parts import charts
from ui.parts.figure_words import map_words
from ui.parts.maps import axes
from ui.parts.maps.charts import PANEL
from ui.parts.tables import named

pd = Late("pandas")

TOKEN_AXES = ("t", "s")


def tensor(view: View) -> None:
    """The chosen tensor of the chosen head, tokens by their words."""
    tokens = _tokens(view)
    fig = partial(
        figures.tensor_map,
        view.matrix,
        axes=tuple(axes.named(view.maps.run.config, letter) for letter in view.axes),
        name=symbol_html(view.tensor),
        rows=tokens[0],
        columns=tokens[1],
        height=PANEL,
        words=map_words(),
    )
    charts.show(fig, f"tensor:{view.tensor}", alt=words.alt(view), data=partial(_table, view))


def _tokens(view: View) -> list[tuple[str, ...] | None]:
    """The words along rows and columns that stand for tokens."""
    return [view.maps.run.words if letter in TOKEN_AXES else None for letter in view.axes]


def _table(view: View) -> "pd.DataFrame":
    """The numbers behind the chart, other rows and columns by letter and place."""
    names = (
        known or [f"{letter}{place}" for place in range(side)]
        for known, letter, side in zip(_tokens(view), view.axes, view.matrix.shape, strict=True)
    )
    return named(view.matrix, *names)
