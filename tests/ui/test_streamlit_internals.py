"""What the app takes from behind Streamlit's interface is there, and does what it is used for."""

from collections.abc import Callable

from streamlit.runtime.scriptrunner import RerunData
from streamlit.testing.v1 import AppTest

from tests import patience
from ui import streamlit_internals as internals


def run(script: Callable[[], None]) -> AppTest:
    """A page of these lines, run once."""
    at = AppTest.from_function(script, default_timeout=patience.SECONDS).run()
    assert not at.exception
    return at


def test_current_run_and_session_id():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = internals.current_run(), internals.session_id()

    assert internals.current_run() is None
    assert internals.session_id() is None
    here, session = run(page).session_state.found
    assert here.session_id == session != ""


def test_is_served():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = internals.is_served()

    assert not internals.is_served()
    assert run(page).session_state.found


def test_interruption():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = found = []
        ends = internals.interruption()
        ends()
        internals.current_run().script_requests.request_stop()
        try:
            ends()
        except Exception:
            found.append("an error of the page")
        except BaseException:
            found.append("the end of the run")

    assert internals.interruption() is None
    assert run(page).session_state.found == ["the end of the run"]


def test_is_history_navigation():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = internals.is_history_navigation()

    assert run(page).session_state.found is False
    assert RerunData(is_history_navigation=True).is_history_navigation


def test_path_of_and_send_markdown():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        @st.cache_data
        def computed(path: tuple[int, ...], text: str) -> None:
            internals.send_markdown(path, text)

        st.text("above")
        told, emptied = internals.path_of(st.empty()), internals.path_of(st.empty())
        internals.send_markdown(emptied, "for a moment")
        computed(told, "told")
        internals.send_markdown(emptied, "")
        st.session_state.found = told, emptied

    at = run(page)
    assert at.session_state.found == ((0, 1), (0, 2))
    assert [one.value for one in at.markdown] == ["told"]
    at.run()  # the cached function is not called: nothing of it is drawn again
    assert not at.markdown
