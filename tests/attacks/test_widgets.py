"""A browser says of a widget what it could not have been asked for."""

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.common import GENERATED_ELEMENT_ID_PREFIX, WidgetMetadata
from streamlit.runtime.state.session_state import WStates

from tests.attacks.forged import WRONG
from ui.streamlit_internals import pass_over_unreadable_widgets


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_no_change(wrong):
    """A callback would look in vain for its value where the widget's run was broken off."""
    pass_over_unreadable_widgets()
    states, widget = WStates(), f"{GENERATED_ELEMENT_ID_PREFIX}-a-words"
    states.set_widget_metadata(WidgetMetadata(widget, lambda text: text, str, "string_value"))
    states.set_widget_from_proto(WidgetState(id=widget, string_value="good"))
    assert dict(states) == {widget: "good"}
    states.set_widget_from_proto(WidgetState(id=widget, **wrong))
    readable = not wrong or "string_value" in wrong  # the first: nothing is chosen
    assert dict(states) == ({widget: wrong.get("string_value")} if readable else {})
