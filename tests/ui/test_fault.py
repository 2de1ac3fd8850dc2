"""An error that nobody foresaw: one sentence in the reader's language, and ways on."""

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.scriptrunner import exec_code
from streamlit.testing.v1 import AppTest

from tests.ui.screen import statement
from ui.frame import fault, navigation, page
from ui.frame.pages import PAGES
from ui.settings import state
from ui.streamlit_internals import pass_over_unreadable_widgets
from ui.words.text import catalogue

ROOT = Path(__file__).parents[2]
REFERENCE = re.compile(r"\*\*([0-9a-f]{8})\*\*")


class PlantedError(Exception):
    """An error that no page expects."""


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[logging.LogRecord]]:
    """Handle errors as the server does, and return the records of its log."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append
    monkeypatch.setattr(
        exec_code, "handle_user_script_exception", lambda error, _: fault.show(error)
    )
    fault.LOG.addHandler(handler)
    yield records
    fault.LOG.removeHandler(handler)


def opened(page: str, **parameters: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.query_params.update(parameters)
    return at.switch_page(f"pages/{page}.py").run()


def planted(*_: object, **__: object) -> None:
    raise PlantedError("planted")


def reference(at: AppTest, lang: str = "en") -> str:
    """Return the reference on the screen, from the one sentence of the fault."""
    assert not at.exception
    before, after = catalogue()["fault.says"][lang].split("{reference}")
    said = [m.value for m in at.markdown if m.value.startswith(before)]
    assert len(said) == 1, [m.value for m in at.markdown]
    assert said[0].endswith(after)
    return REFERENCE.search(said[0])[1]


def assert_logged_once(log: list[logging.LogRecord], name: str) -> None:
    assert [record.args[0] for record in log] == [name]
    assert log[0].exc_info[0] is PlantedError
    assert name in log[0].getMessage()


def links(at: AppTest) -> list[str]:
    return [link.proto.page for link in at.sidebar.get("page_link")]


def buttons(at: AppTest) -> dict[str, object]:
    return {button.key: button for button in at.button if button.key}


def healthy(at: AppTest) -> None:
    assert not at.exception
    assert not any(REFERENCE.search(m.value) for m in at.markdown)
    assert at.title


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_that_fails_says_one_sentence_with_the_navigation_alive(log, monkeypatch, lang):
    monkeypatch.setattr("ui.pages.notation.view.view", planted)
    at = opened("notation", lang=lang)
    name = reference(at, lang)
    assert_logged_once(log, name)
    assert len(links(at)) == len(PAGES)
    home = [m.value for m in at.markdown if 'target="_self"' in m.value]
    assert len(home) == 1
    assert f'href="/?lang={lang}"' in home[0]
    at.switch_page("pages/rope.py").run()
    healthy(at)


BEFORE_NAVIGATION = {
    "the link is read": (state, "read"),
    "sizes are mended": (page.model, "mend"),
    "the story is mended": (page.story, "mend"),
    "the server is warmed": (page.queue, "warm_up"),
}


@pytest.mark.parametrize("when", BEFORE_NAVIGATION)
def test_what_fails_before_the_navigation_leaves_its_links(log, monkeypatch, when):
    with monkeypatch.context() as patch:
        patch.setattr(*BEFORE_NAVIGATION[when], planted)
        at = opened("notation")
    assert_logged_once(log, reference(at))
    assert len(links(at)) == len(PAGES)
    healthy(at.run())


def test_the_navigation_itself_may_fail(log, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(navigation, "draw", planted)
        at = opened("notation")
    name = log[0].args[0]
    said = " ".join(m.value for m in at.markdown)
    for text in catalogue()["fault.says"].values():  # the reader's language is not known
        assert text.format(reference=name) in said
    assert 'href="./"' in said
    assert not at.exception
    healthy(at.run())


def test_one_click_puts_back_what_the_page_cannot_begin_with(log, monkeypatch):
    def fails_on(search: str) -> Callable[..., object]:
        return lambda *a, **k: planted() if state.settings()["notation_search"] else view(*a, **k)

    from ui.pages.notation import view as module

    view = module.view
    monkeypatch.setattr(module, "view", fails_on("latent"))
    at = opened("notation", notation_search="latent", lang="zh", rope_topic="wheels")
    name = reference(at, "zh")
    buttons(at)[f"anew_{name}"].click().run()
    healthy(at)
    assert "notation_search" not in at.query_params
    assert at.query_params["lang"] == "zh", "the reader's language stays"
    assert len(log) == 1


def test_a_callback_that_fails_leaves_the_page_as_it_was(log, monkeypatch):
    at = opened("notation", notation_search="latent")
    before = statement(at)
    with monkeypatch.context() as patch:
        patch.setattr(state, "write", planted)
        at.text_input(key="notation_search").set_value("rope").run()
    assert_logged_once(log, reference(at))
    assert statement(at) == before
    assert len(links(at)) == len(PAGES)
    healthy(at.run())


def test_a_broken_session_has_a_way_home(log):
    at = opened("notation")
    at.session_state["settings"] = {}
    at.run()
    said = " ".join(m.value for m in at.markdown)
    assert log[0].args[0] in said
    assert 'href="./"' in said


def test_a_session_that_cannot_be_put_back_is_emptied_by_the_same_click(log, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ui.pages.notation.view.view", planted)
        at = opened("notation", notation_search="latent")
    with monkeypatch.context() as patch:
        patch.setattr(state, "renew", planted)
        buttons(at)[f"anew_{reference(at)}"].click().run()
    healthy(at)
    assert not at.query_params
    assert [record.exc_info[0] for record in log] == [PlantedError, PlantedError]


def test_a_message_about_a_name_that_no_widget_has_is_not_kept(log):
    pass_over_unreadable_widgets()
    at = opened("rope")
    at.session_state._state._state._new_widget_state.set_widget_from_proto(
        WidgetState(id="unknown", int_value=7)
    )
    healthy(at.run())
    assert not log


def test_a_run_that_is_given_up_tells_nobody(log, monkeypatch):
    """The reader is on another page by then; what they do there must not be put back."""
    monkeypatch.setattr(fault, "is_given_up", lambda: True)
    assert fault.show(PlantedError("planted"))
    (line,) = log
    assert "PlantedError('planted') in a run that is given up" in line.getMessage()
    assert not line.exc_info
