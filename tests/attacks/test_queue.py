"""Work that one link asks for: who left gives it up, what is too much is refused, none is stuck."""

import html
from unittest.mock import MagicMock

import pytest
import streamlit as st
import torch
from streamlit.runtime import Runtime
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from mla_engine import weights
from tests import patience
from tests.attacks.server import wait_until
from tests.ui.conftest import open_page
from tests.ui.screen import says
from ui.engine import queue
from ui.engine.queue import Queue
from ui.parts.statements import checked
from ui.sources import work

LINE = "ui.engine.queue._queue"  # where a page takes it from

ENDLESS = """
import streamlit as st
import torch
from ui.engine import queue

@st.cache_resource
def kept():
    number = torch.zeros(1)
    with queue.turn():
        while True:
            number.add_(1)

kept()
"""


@pytest.fixture
def line(monkeypatch):
    """A line of its own for a test, in which every operation is a piece."""
    own = Queue(64, patience.SECONDS, piece_seconds=0)
    monkeypatch.setattr(LINE, lambda: own)
    monkeypatch.setattr(Runtime, "_instance", MagicMock())
    monkeypatch.setattr(PagesManager, "uses_pages_directory", False)  # a script alone
    with own.turn():
        torch.zeros(1)  # what torch imports for its first watched operation takes seconds
    yield own
    st.cache_resource.clear()


def visitor(script):
    """Streamlit's own runner of a script, as a visitor's session has it, begun."""
    state = SafeSessionState(SessionState(), lambda: None)
    runner = LocalScriptRunner(str(script), state, PagesManager(str(script)))
    runner._session_id = script.stem
    runner.start()
    return runner


def test_visitors_who_left_give_up_their_turn_and_their_places(line, tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    at_work = visitor(script)
    wait_until(lambda: len(line._line) == 1)
    others = [tmp_path / f"other{n}.py" for n in range(3)]
    for other in others:
        other.write_text("from ui.engine import queue\nwith queue.turn(whole=True):\n    pass\n")
    line._piece = patience.SECONDS  # the first one keeps its turn
    waiting = [visitor(other) for other in others]
    wait_until(lambda: len(line._line) == 4)
    for runner in waiting:
        runner.request_stop()
    wait_until(lambda: len(line._line) == 1)
    line._piece = 0
    at_work.request_stop()
    wait_until(lambda: not line._line)
    for runner in (at_work, *waiting):
        runner.join()


def test_a_newer_run_of_a_visitor_takes_the_place_of_the_one_that_waits(line, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from ui.engine import queue\nwith queue.turn():\n    pass\n")
    with line.turn():
        waits = visitor(script)
        wait_until(lambda: len(line._line) == 2)
        (first,) = line._line[1:]
        waits.request_rerun(RerunData())
        wait_until(lambda: line._line[1:] not in ([], [first]))
        assert len(line._line) == 2
    waits.join()
    assert not line._line


# What is too much is refused before any of it is done

LARGEST = {"d_model": "16384", "n_heads": "128", "d_head": "512", "d_value": "512"}
LARGEST |= {"d_latent_kv": "2048", "d_latent_q": "4096", "d_rope": "256"}
BEYOND = [
    ("attention_maps", LARGEST | {"map_generated": "1024", "map_run": "128"}),
    ("absorption", LARGEST),
    ("compression", LARGEST | {"cmp_weights": "spectrum", "cmp_heads": "128"}),
    ("decode", LARGEST | {"dec_heads": "128", "dec_prompt": "1024"}),
    ("rope", LARGEST | {"rope_topic": "merged"}),
]


@pytest.fixture
def idle_engine(monkeypatch):
    """An engine that fails where weights begin to be drawn."""

    queue.warm_up()

    def begun(*_):
        pytest.fail("the work was begun")

    monkeypatch.setattr(weights, "_generator", begun)


@pytest.mark.parametrize(("page", "link"), BEYOND, ids=[page for page, _ in BEYOND])
def test_the_largest_link_of_a_page_is_refused_before_any_of_it_is_done(idle_engine, page, link):
    said = [html.unescape(error.value) for error in open_page(f"pages/{page}.py", **link).error]
    assert said
    for sentence in said:
        assert says(sentence, "refused.work")
        assert ": choose fewer" in sentence


def test_a_bound_is_kept_to_the_operation():
    work.require(work.MOST, work.FEWER_WORDS)
    with pytest.raises(work.CostError) as refused:
        work.require(work.MOST + 1, work.FEWER_WORDS)
    assert refused.value.values["most"] == work.MOST / 1e12


# The compression page

HEADS = {"d_model": "2048", "n_heads": "128", "d_head": "128", "d_value": "128"}


@pytest.fixture
def sides(monkeypatch):
    """The sides of the matrices whose eigenvectors are sought, which here are those of 1."""
    found, eigh = [], torch.linalg.eigh

    def noted(matrix):
        found.append(len(matrix))
        return eigh(torch.eye(len(matrix), dtype=matrix.dtype))

    monkeypatch.setattr(torch.linalg, "eigh", noted)
    return found


def test_128_heads_of_128_are_brought_to_as_many_as_take_a_moment(sides):
    at = open_page("pages/compression.py", **HEADS, cmp_heads="128", cmp_weights="spectrum")
    assert not at.error
    assert any(
        says(html.unescape(m.value), "common.changed_setting", given="128")
        for m in (*at.info, *at.warning)
    )
    offered = [int(n) for n in next(w for w in at.select_slider if "cmp_heads" in w.key).options]
    assert sides == [256 * offered[-1], 256 * offered[-1], *[128 * offered[-1]] * 2]
    assert sum(work.factoring(side, 2048) for side in sides) < work.MOST


def test_heads_whose_runs_take_long_are_not_offered(sides):
    """128 heads at d = 512 have factors within the bound; with reading the weights not."""
    at = open_page("pages/compression.py", **HEADS | {"d_model": "512"}, cmp_heads="128")
    assert not at.error
    offered = next(w for w in at.select_slider if "cmp_heads" in w.key).options
    assert (offered[-1], max(sides)) == ("64", 512)


# A full line


def full(monkeypatch):
    monkeypatch.setattr(LINE, lambda: Queue(-1, 1))


def test_the_quiz_says_that_the_queue_is_full_where_a_statement_is_still_to_be_checked(
    monkeypatch,
):
    st.cache_data.clear()
    link = {"quiz_count": "31", "quiz_seed": "5"}
    open_page("pages/quiz.py", **link)
    checked.clear()
    with monkeypatch.context() as patch:
        full(patch)
        at = open_page("pages/quiz.py", **link)
        (error,) = at.error
        assert says(html.unescape(error.value), "refused.waiting")
        assert says(" ".join(c.value for c in at.caption), "common.tries_again")
    next(button for button in at.button if button.key == "try_again").click().run()
    assert not at.error
    assert at.radio, "the question is asked"
