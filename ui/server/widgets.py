"""What a browser says of its widgets, where it cannot be read: as if it had not been said."""

from collections.abc import Callable
from functools import wraps

from streamlit.logger import get_logger
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.session_state import (
    STREAMLIT_INTERNAL_KEY_PREFIX,
    Serialized,
    WStates,
)

LOG = get_logger(__name__)
NUMBERS = {"int_value", "double_value"}  # a number's widget waits for the second, whole or not
Read = Callable[[WStates, str], object]
Take = Callable[[WStates, WidgetState], None]


def tolerate() -> None:
    """Let a widget keep its value where the browser's message about it cannot be read.

    Streamlit keeps a message before it reads it, and reads all of them at every run: one of a wrong
    type raises there for as long as its session lives. A KeyError is what Streamlit itself raises,
    and takes, for a message about a widget that it does not know. One about a name that no widget
    can have is not kept at all: it would be taken for a value of the session, which there is not.
    """
    if not hasattr(WStates.__getitem__, "__wrapped__"):
        WStates.__getitem__ = _readable(WStates.__getitem__)
        WStates.set_widget_from_proto = _of_widgets(WStates.set_widget_from_proto)


def _readable(read: Read) -> Read:
    @wraps(read)
    def value(states: WStates, widget: str) -> object:
        try:
            _check(states, widget)
            return read(states, widget)
        except KeyError:
            raise
        except Exception as error:
            LOG.warning("passed over a message about %.100r: %.100r", widget, error)
            raise KeyError(widget) from error

    return value


def _of_widgets(take: Take) -> Take:
    @wraps(take)
    def taken(states: WStates, said: WidgetState) -> None:
        # the second are the events of components: clicks on a map, keys of a clicker
        if is_element_id(said.id) or said.id.startswith(STREAMLIT_INTERNAL_KEY_PREFIX):
            take(states, said)
            if said.id in states.widget_metadata:
                _drop_unreadable(states, said.id)

    return taken


def _drop_unreadable(states: WStates, widget: str) -> None:
    """A widget with a message that cannot be read has not changed: its callback is not called."""
    try:
        states[widget]
    except KeyError:
        states.states.pop(widget, None)  # a newer run of the session may have taken all away


def _check(states: WStates, widget: str) -> None:
    """Refuse a value of another type than this widget's, which Streamlit would adopt.

    Raises:
        TypeError: it is of another; tells both.
    """
    said, known = states.states.get(widget), states.widget_metadata.get(widget)
    kind = said.value.WhichOneof("value") if isinstance(said, Serialized) else None
    if kind and known and kind != known.value_type and {kind, known.value_type} != NUMBERS:
        raise TypeError(f"{kind} instead of {known.value_type}")
