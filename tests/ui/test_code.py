"""The code behind every page: the source that is shown did run."""

import json
import re
import threading
from collections.abc import Callable
from types import FrameType

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mla_engine import costs
from tests.ui.pages.test_trained_heads import STATES as TRAINED_STATES
from tests.ui.test_snippets import REAL_STATES, ROOT, SMALL, STATES, named, page_of
from ui.engine.workers import jobs, messages, pool
from ui.frame.code import source
from ui.frame.pages import PAGES
from ui.pages.sparse import view as run_of_sparse
from ui.settings.page import nothing


def called_by(run: Callable[[], object]) -> set[tuple[str, int]]:
    """Return file and first line of every function that runs in the threads that `run` starts."""
    called = set()

    def note(frame: FrameType, *_: object) -> None:
        called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    st.cache_data.clear()
    st.cache_resource.clear()
    run_of_sparse._asked_before.cache_clear()
    threading.settrace(note)  # which is told only of calls, as it returns nothing
    try:
        run()
    finally:
        threading.settrace(None)
    ours = ("mla_engine/", "kvcount/")
    places = ((file.removeprefix(f"{ROOT}/"), number) for file, number in called)
    return {(file, number) for file, number in places if file.startswith(ours)}


SOURCE_STATES = [
    ("overview", {"variant": "gqa"}),
    ("overview", SMALL | {"variant": "csa"}),
    ("overview", SMALL | {"variant": "kda"}),
    ("worked_example", {}),
    ("worked_example", {"we_variant": "mha", "we_completed": "1"}),
    ("attention_maps", SMALL),
    ("attention_maps", SMALL | {"variant": "mla_absorbed", "d_rope": "0"}),
    ("attention_maps", SMALL | {"variant": "csa"}),
    ("attention_maps", SMALL | {"variant": "kda"}),
    ("attention_maps", SMALL | {"variant": "block_dsa"}),
    *[("rope", SMALL | {"rope_topic": topic}) for topic in ("turning", "merged", "scale")],
    ("rope", {"rope_topic": "yarn"}),
    ("rope", SMALL | {"rope_topic": "pairing", "rope_pairing": "layout"}),
    ("absorption", SMALL),
    ("compression", {}),
    ("compression", SMALL | {"cmp_weights": "spectrum"}),
    ("after_mla", {}),
    ("planner", {}),
    ("planner", {"plan_gpu": "l4"}),
    ("planner", {"plan_own": "deepseek-v3", "plan_parameters": "30"}),
    ("sparse", {}),
    *[
        ("kv_cache", {"kv_view": v})
        for v in ("context", "memory", "layouts", "parallel", "formula")
    ],
    ("kv_cache", {"kv_type": "fp8"}),
    ("decode", SMALL),
    ("compute", {"cost_phase": "prefill"}),
    ("compare", SMALL | {"vs_view": "maps"}),
    ("compare", SMALL | {"vs_view": "maps", "vs_left_as": "csa", "vs_right_as": "kda"}),
    ("compare", {"vs_view": "costs"}),
    ("claims", {"claims_text": "P4"}),
    ("quiz", {"quiz_count": "2", "quiz_number": "2"}),
    ("language_model", {}),
    ("notation", {}),
]


@pytest.mark.parametrize(("page", "link"), SOURCE_STATES, ids=named)
def test_the_source_that_is_shown_did_run(opened, page, link):
    shown: list[AppTest] = []
    called = called_by(lambda: shown.append(page_of(opened, page, code="source", **link)))
    (at,) = shown
    places = [re.search(r"· (\S+), lines (\d+) to (\d+)", m.value) for m in at.markdown]
    places = [found for found in places if found]
    assert 1 <= len(places) == len(at.code)
    for (file, first, last), block in zip((p.groups() for p in places), at.code, strict=True):
        assert (file, int(first)) in called, block.value
        lines = (ROOT / file).read_text("utf-8").splitlines()[int(first) - 1 : int(last)]
        assert [line.strip() for line in block.value.splitlines()] == [
            line.strip() for line in lines
        ]


def test_no_page_is_without_its_code():
    assert all(page.code is not nothing and page.snippet for page in PAGES.values())
    assert {page for page, _ in (*STATES, *REAL_STATES, *TRAINED_STATES)} == set(PAGES)
    assert {page for page, _ in SOURCE_STATES} <= set(PAGES)


SOURCE_OF_REAL = [
    ("attention_maps", {"layer": "1"}),
    ("rope", {"rope_topic": "scale"}),
    ("absorption", {}),
    ("compression", {"cmp_rank": "32"}),
    ("compression", {"cmp_weights": "spectrum"}),
    ("decode", {"dec_step": "2"}),
    ("compare", {"vs_view": "maps"}),
]


def in_this_process(job, *_):
    """Do a worker's job here, where it can be watched."""
    given = messages.decoded(json.loads(job.given), [])
    return jobs.JOBS[job.name](job.place.where, lambda *_: None, **given)


@pytest.mark.parametrize(("page", "link"), SOURCE_OF_REAL, ids=named)
def test_the_source_that_is_shown_of_a_real_layer_did_run(opened, demo, monkeypatch, page, link):
    monkeypatch.setattr(pool.POOL, "call", in_this_process)
    test_the_source_that_is_shown_did_run(opened, page, link | {"source": demo})


def test_a_decorated_function_is_shown_whole():
    place, text = source(costs.Serving.free_bytes.fget)
    assert text.startswith("@property\ndef free_bytes(self)")
    assert "mla_engine/costs/memory.py" in place


def test_code_is_drawn_on_request_alone_and_stays_in_the_link(opened):
    at = opened()
    assert not at.code
    next(b for b in at.button_group if b.key == "code").set_value("snippet").run()
    assert len(at.code) == 1
    assert at.query_params["code"] == "snippet"
    assert {b.label for b in at.get("download_button")} >= {"Snippet as .py", "Snippet as .ipynb"}
    next(b for b in at.button_group if b.key == "code").set_value("none").run()
    assert not at.code
    assert "code" not in at.query_params


def test_where_nothing_runs_there_is_no_code(opened):
    for shown in ("source", "snippet"):
        at = page_of(opened, "rope", code=shown, d_rope="0")
        assert not at.code
        assert any("no code" in info.value for info in at.info)
