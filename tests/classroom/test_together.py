"""Followers are drawn for together: once for all, as for each, and nobody's own is in it."""

import re
from collections.abc import Iterator

import pytest
from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from tests.attacks.client import Session
from tests.attacks.server import App, copied, running
from ui.frame.rooms import PAGES
from ui.settings.page import HOME

ROOM = "room=7KQMW3XD"
OPENS = "opens "
NAMES = re.compile(r"[0-9a-f]{32}|(?<=session)\W+[0-9a-f]{8}\b")
NOTHING = WidgetState(id="$$ID-0-nothing", trigger_value=True)
PLACES = [(name, "") for name in PAGES] + [
    ("kv_cache", "seed=3&kv_view=memory"),
    (HOME, "stop=1&lang=zh"),
    ("attention_maps", "lecture=1&seed=5"),
]


class Follower(Session):
    """Goes where it is led; `alone`, it presses a button that there is not, and has its own run."""

    def __init__(self, app: App, *, alone: bool = False) -> None:
        super().__init__(app.url)
        self.says, self.drawn = [NOTHING] if alone else [], {}
        self.open("", ROOM)

    def go(self, page: str, query: str = "") -> dict[tuple, str]:
        """Go to a page and return what is on its screen."""
        self.open("" if page == HOME else page, f"{query}&{ROOM}")
        return self.screen

    def rerun(self, **options: object) -> object:
        if options.get("is_history_navigation"):
            options["widget_states"] = WidgetStates(widgets=self.says)
        return super().rerun(**options)

    def _take(self, message: Message) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self.drawn = {}
        elif kind == "delta":
            part = message.delta.WhichOneof("type")
            self.drawn[part, tuple(message.metadata.delta_path)] = message
        elif kind in {"page_info_changed", "page_config_changed", "navigation"}:
            self.drawn[kind, ()] = message
        super()._take(message)

    @property
    def screen(self) -> dict[tuple, str]:
        """Return what was sent last for each place, without the names that each run gives."""
        return {at: NAMES.sub("*", str(message)) for at, message in self.drawn.items()}

    def download(self, app: App, at: int = 0) -> bytes:
        """Press one of the buttons for data and return the file."""
        button = self.seen.of("download_button")[at]
        asked = BackMsg()
        asked.backend_operation_request.request_id = "1"
        asked.backend_operation_request.session_id = self.seen.session_id
        asked.backend_operation_request.deferred_file.file_id = button.deferred_file_id
        self.send(asked)
        told = self.answers("backend_operation_response")
        assert not told.error_msg
        status, _, body = app.get(told.deferred_file.url)
        assert status == 200
        return body


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A server that says which pages it runs; there no drawing goes out of date."""
    begins = "    state.follow()\n    with waits.drawing_turn(page), _observed(page):"
    noted = f'    print("{OPENS}", page.name, flush=True)\n{begins}'
    changes = {
        "ui/frame/page.py": (begins, noted),
        "ui/server/classes/together.py": ("MOMENT_SECONDS = 20.0", "MOMENT_SECONDS = 1e9"),
    }
    root = copied(tmp_path_factory.mktemp("app"), changes)
    with running(root=root, folder=root) as one:
        yield one
        assert "Traceback" not in one.log


@pytest.fixture
def followers(app: App) -> Iterator[tuple[Follower, Follower, Follower]]:
    """Two who follow, and one whose page is run for it alone."""
    with Follower(app) as first, Follower(app) as second, Follower(app, alone=True) as alone:
        yield first, second, alone


def runs(app: App) -> int:
    return sum(line.startswith(OPENS) for line in app.log.splitlines())


def test_a_step_is_run_once_and_shows_what_a_run_for_each_shows(app, followers):
    first, second, alone = followers
    for page, query in PLACES:
        before = runs(app)
        shown = first.go(page, query)
        assert runs(app) == before + 1
        assert second.go(page, query) == shown
        assert runs(app) == before + 1, f"{page}?{query}"
        own = alone.go(page, query)
        assert runs(app) == before + 2
        assert shown.keys() == own.keys()
        differing = [at for at in own if own[at] != shown[at]]
        assert not differing, (page, query, shown[differing[0]][:2000], own[differing[0]][:2000])


def test_what_a_follower_does_next_is_as_after_a_run(app, followers):
    first, _, alone = followers
    for one in (first, alone):
        one.go("rope", "seed=2")
    before, run_before = first.screen, runs(app)
    for one in (first, alone):
        slider = one.seen.of("slider")[0]
        one.touch(slider, double_array_value={"data": [slider.min]})
    assert first.screen == alone.screen != before
    assert runs(app) == run_before + 3  # one of them made up for the run that it owed
    for one in (first, alone):  # a press, whose callback leads elsewhere
        one.touch(one.seen.widget("button", "story"), trigger_value=True)
    assert first.screen == alone.screen
    assert "stop=1" in first.seen.query
    assert runs(app) == run_before + 7  # each by way of the page that it leaves


def test_a_section_that_is_reached_is_drawn_once(app, followers):
    first, second, alone = followers
    drawn = []
    for one in (first, second, alone):
        one.go("attention_maps")
        before = runs(app), len(one.seen.of("plotly_chart"))
        section = next(m for m in one.drawn.values() if waits(m))
        near = WidgetState(id=section.delta.new_element.bidi_component.id)
        near.json_value = '{"near": 1}'
        asked = {"widget_states": WidgetStates(widgets=[near])}
        one.rerun(fragment_id=section.delta.fragment_id, **asked)
        assert len(one.seen.of("plotly_chart")) > before[1]
        drawn.append((one.screen, runs(app) - before[0]))
    (shown, ran), (again, not_again), (own, _) = drawn
    assert (ran, not_again) == (1, 0)
    assert shown == again
    assert [at for at in shown if own[at] != shown[at]] == []


def waits(message: Message) -> bool:
    return "-section_" in message.delta.new_element.bidi_component.id


def test_data_can_be_taken_along_when_all_others_have_left(app, followers):
    first, second, alone = followers
    for one in followers:
        one.go("kv_cache", "seed=4")
    file = alone.download(app)
    assert first.download(app) == file
    with Follower(app) as late:
        late.go("kv_cache", "seed=4")
        for one in (first, alone):
            one.go("rope")
        assert second.download(app) == file
        widget = late.seen.of("slider")[0]
        names = [button.deferred_file_id for button in late.seen.of("download_button")]
        assert names == [button.deferred_file_id for button in second.seen.of("download_button")]
        late.touch(widget, double_array_value={"data": [widget.min]})
        assert late.download(app)


def test_data_can_be_taken_along_when_the_drawing_itself_has_gone():
    with (
        running({"MLA_CACHE_BUDGET_GIB": "0.0001"}) as small,  # nothing is kept there
        Follower(small) as stays,
        Follower(small) as goes,
    ):
        stays.go("notation")
        file = stays.download(small)
        goes.go("rope")
        goes.go("quiz")
        assert stays.download(small) == file


def test_each_language_is_drawn_for_itself(app):
    with Follower(app) as english, Follower(app) as chinese:
        english.go("rope", "seed=9")
        chinese.go("rope", "seed=9&lang=zh")
        assert english.seen.texts != chinese.seen.texts


def test_what_a_browser_says_of_widgets_is_in_no_drawing(app, followers):
    liar, other, _ = followers
    liar.go("attention_maps", "seed=11")
    said = "string_value", "json_value"
    ids = [widget.id for _, widget in liar.seen.widgets]
    liar.says = [WidgetState(id=one, **{kind: '"forged"'}) for one in ids for kind in said]
    before = runs(app)
    liar.go("attention_maps", "seed=12")
    other.go("attention_maps", "seed=12")
    assert runs(app) == before + 1
    assert "forged" not in str(other.drawn)
