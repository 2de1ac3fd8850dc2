"""The pictures of the decode page, and the run behind its measured columns."""

from functools import partial

import streamlit as st

from mla_engine import figures
from ui.engine import model
from ui.engine import real_layer as source
from ui.pages.decode import run as decode_run
from ui.pages.decode import view as decode
from ui.pages.decode import words
from ui.pages.decode.controls import player
from ui.pages.decode.run import Step
from ui.pages.decode.view import Scene
from ui.parts import charts, prose
from ui.parts import ways as every_way
from ui.settings import state
from ui.words.text import t


def blocks(shown: Scene) -> None:
    """The caches after the step, a block for each token."""
    fig = figures.cache_blocks(
        [every_way.label(shown.ways, code) for code in shown.ways],
        [shown.bytes_per_token(code) for code in shown.ways],
        (shown.prompt, shown.step),
        most=shown.most_tokens,
        titles=(t("decode.block_prompt"), t("decode.block_old"), t("decode.block_new")),
        axis=t("decode.axis_held"),
        shown=words.shown_bytes,
    )
    st.plotly_chart(fig, width="stretch", key="blocks", alt=words.alt(shown))


def _cancel(key: tuple | None) -> None:
    st.session_state.dec_cancelled = key
    player().stop()


def taken(shown: Scene) -> dict[str, Step] | None:
    """This step in every way, run piece by piece; None if it was cancelled.

    Raises:
        MemoryBudgetError: in the engine's words.
    """
    sizes, real = (shown.heads, shown.prompt), source.chosen()
    key = (shown.step, *sizes, real or state.settings()["seed"], *shown.ways.values())
    if st.session_state.get("dec_cancelled") == key:
        st.button(t("decode.run"), key="dec_run", on_click=_cancel, args=(None,))
        return None
    cancel, bar = st.empty(), st.empty()
    cancel.button(t("decode.cancel"), key="dec_cancel", on_click=_cancel, args=(key,))
    bar.progress(0.0, t("decode.building"))
    runners = {}
    for code, way in shown.ways.items():
        runners[code] = decode_run.runner(way, *sizes, model.origin(way.config), real)
        bar.progress(0.0, every_way.label(shown.ways, code))
    missing = sum(runner.pieces_to(shown.step) for runner in runners.values())
    done = 0
    for code, runner in runners.items():
        while runner.pieces_to(shown.step):
            runner.advance(shown.step)
            done += 1
            bar.progress(min(done / missing, 1.0), every_way.label(shown.ways, code))
    cancel.empty()
    bar.empty()
    return {code: runner.steps[shown.step] for code, runner in runners.items()}


def numbers(shown: Scene) -> None:
    """The table, first with what is counted alone, then with what was measured."""
    place, said = st.container(key="dec_table").empty(), st.empty()
    place.table(words.table(shown, None))
    try:
        steps = taken(shown)
    except ValueError as error:
        prose.refused(error)
        return
    if steps:
        place.table(words.table(shown, steps))
        said.markdown(words.agreement(steps))
        charts.download(partial(decode.table, shown, steps), "decode_step.csv")
