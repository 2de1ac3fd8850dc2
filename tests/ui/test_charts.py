"""Charts: built once for the same arguments, valid to Plotly, and sent once to a browser."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from mla_engine import figures
from tests.sampling import some
from tests.ui.conftest import open_page
from tests.ui.screen import chart
from tests.ui.screen import charts as shown
from ui.frame.pages import PAGES
from ui.parts import charts

# Of each page that draws charts a control, and what it is set to.
CHANGED = {
    "absorption": {"ab_head": 1},
    "after_mla": {"am_kv": "fp8"},
    "attention_maps": {"map_key": 2},
    "compare": {"vs_right_as": "gqa"},
    "compression": {"cmp_size": 16},
    "compute": {"cost_queries": 4},
    "kv_cache": {"kv_context": 2**14},
    "language_model": {"lm_model": "mha"},
    "planner": {"plan_data": 2},
    "rope": {"rope_query": 8},
    "sparse": {"sp_keys": 4},
    "trained_heads": {"th_variant": "gqa"},
}


# Pages by a link, a slider that lines or marks of their pictures go with, another place of it.
LED: list[tuple[str, dict[str, str], str, int]] = [
    ("kv_cache", {}, "kv_context", 2**14),
    ("kv_cache", {"kv_view": "memory"}, "kv_context", 2**14),
    ("kv_cache", {"kv_view": "parallel"}, "kv_ranks", 2),
    ("compare", {"vs_view": "costs"}, "vs_context", 2**12),
    ("compute", {}, "cost_context", 2**12),
    ("compute", {"cost_ways": "all"}, "cost_context", 2**8),
    ("planner", {}, "plan_context", 2**12),
    ("sparse", {}, "sp_keys", 4),
    ("sparse", {}, "sp_context", 2**12),
]


def drawn(at: AppTest) -> dict[str, str]:
    """Return what every chart of a page was sent, by its key."""
    components = [e.proto for e in at.get("bidi_component") if e.proto.component_name == "chart"]
    return {one.id.rpartition("-")[2]: json.dumps(chart(one).spec) for one in components}


def file(page: str) -> str:
    return PAGES[page].file


def test_pages_with_charts_and_their_controls_are_known():
    without = {"claims", "decode", "notation", "overview", "quiz", "real_models", "worked_example"}
    assert set(CHANGED) == set(PAGES) - without


@pytest.mark.parametrize("page", sorted(CHANGED))
def test_a_control_builds_the_figures_that_it_changes_and_no_other(page, built):
    charts.ready.clear()  # what another test drew
    at = open_page(file(page))
    before = drawn(at)
    built.clear()
    at.session_state["settings"].update(CHANGED[page])
    at.run()
    changed = set(drawn(at).values()) - set(before.values())
    assert changed
    assert len(built) == len(changed)


@pytest.mark.parametrize(("page", "link", "name", "place"), LED)
def test_what_goes_with_a_slider_is_all_that_its_picture_changes(page, link, name, place):
    at = open_page(file(page), **link)

    def led() -> list:
        return [one for one in shown(at) if one.follows == f"st-key-{name}"]

    before = led()
    assert before
    (slider,) = (one for one in at.select_slider if one.key == f"{name}")
    assert f"{place:,}" in slider.options, "the browser reads the place from the slider's text"
    at.session_state["settings"][name] = place
    at.run()
    for old, new in zip(before, led(), strict=True):
        assert old.spec != new.spec
        for line in (one for one in old.layout["shapes"] if one["name"] == "here"):
            line |= {"x0": place, "x1": place}
        for mark in (one for one in old.traces if "meta" in one):
            mark["x"], mark["y"] = ([at] for at in mark["meta"][str(place)])
        assert old.spec == new.spec


@pytest.mark.parametrize("page", some(sorted(CHANGED), 4))
def test_a_second_visitor_of_a_page_has_its_figures_built(page, built):
    open_page(file(page))
    built.clear()
    assert drawn(open_page(file(page)))
    assert not built


class Browser:
    """A browser that keeps large messages, so that it is sent only their names again."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.sent: list = []

    def take(self, message: object) -> None:
        """Take one message of the server."""
        self.sent.append(message)
        if message.metadata.cacheable:
            self.known.add(message.hash)

    @property
    def n_bytes(self) -> int:
        """Return the bytes of all that was sent since `sent` was empty."""
        return sum(message.ByteSize() for message in self.sent)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """Send all pages to a browser, too, while the test itself is sent every message whole."""
    found = Browser()
    enqueue = ScriptRunContext.enqueue

    def sending(context: ScriptRunContext, message: object) -> None:
        whole, context.cached_message_hashes = context._enqueue, found.known
        context._enqueue = found.take
        try:
            enqueue(context, message)
        finally:
            context._enqueue = whole
        whole(message)

    monkeypatch.setattr(ScriptRunContext, "enqueue", sending)
    return found


def draws(message: object) -> bool:
    """Tell whether a message has a chart."""
    return message.delta.new_element.bidi_component.component_name == "chart"


def test_a_chart_that_did_not_change_is_sent_by_its_name_alone(browser):
    at = open_page(file("attention_maps"))
    charts_sent = [m for m in browser.sent if draws(m)]
    assert len(charts_sent) == len(drawn(at))
    browser.sent.clear()
    at.run()
    assert not [m for m in browser.sent if draws(m)]
    again = [m for m in browser.sent if m.ref_hash in {one.hash for one in charts_sent}]
    assert len(again) == len(charts_sent)
    assert max(m.ByteSize() for m in again) < 200


def scores(values: np.ndarray) -> charts.Drawing:
    """Return a map of a matrix [t,s]."""
    words = [str(place) for place in range(len(values))]
    return charts.Drawing(figures.score_map, values, words, words, limit=1.0)


def test_a_changed_number_is_another_figure_and_what_is_kept_stays(built):
    values = np.eye(300, dtype=np.float32)
    first = json.loads(charts.ready(scores(values), False)[0])
    before = json.dumps(first)
    values[255, 1] = 0.25
    second = json.loads(charts.ready(scores(values), False)[0])
    assert len(built) == 2
    assert json.dumps(first) == before != json.dumps(second)


def test_a_lecture_has_figures_of_its_own():
    made = [charts.ready(scores(np.eye(3)), on) for on in (False, True)]
    plain, lower = (height for _, height in made)
    assert [json.loads(figure)["layout"]["height"] for figure, _ in made] == [plain, lower]
    assert lower < plain


LARGEST = {"preset": "custom", "d_model": "64", "n_heads": "128", "d_head": "8", "d_value": "8"}
LARGEST |= {"d_latent_kv": "512", "d_latent_q": "0", "d_rope": "8"}


@pytest.mark.parametrize("tokens", ["256", "1024"])
def test_the_largest_maps_are_sent_in_less_than_a_megabyte(browser, tokens):
    link = LARGEST | {"map_generated": tokens, "map_run": "128"}
    at = open_page(file("attention_maps"), **link)
    assert len(drawn(at)) == 7
    browser.sent.clear()
    at.session_state["settings"].update(map_generated=int(tokens) // 2 + 1, map_head=1, seed=1)
    before = drawn(at)
    at.run()
    assert not set(drawn(at).values()) & set(before.values()), "every chart is another"
    assert browser.n_bytes < 10**6
    assert max(len(spec) for spec in drawn(at).values()) < 500_000
