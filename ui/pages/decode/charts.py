"""The chart of the decode page."""

from mla_engine import figures
from ui.pages.decode import words
from ui.pages.decode.view import View
from ui.parts.charts import show
from ui.parts.ways import label
from ui.words.numbers import tied_size
from ui.words.text import t


def blocks(view: View) -> None:
    """The caches after the step, a block for each token."""
    fig = figures.cache_blocks(
        [label(view.ways, code) for code in view.ways],
        [view.bytes_per_token(code) for code in view.ways],
        (view.prompt, view.step),
        most=view.most_tokens,
        titles=(t("decode.block_prompt"), t("decode.block_old"), t("decode.block_new")),
        axis=t("decode.axis_held"),
        shown=tied_size,
    )
    show(fig, "blocks", alt=words.alt(view))
