"""Messages that no browser sends: of wrong types, cut, huge, about what there is not.

After each of them a good message must be answered as always: `exchange`.
"""

from contextlib import suppress
from random import Random

from google.protobuf.json_format import ParseDict
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.attacks.client import Session, StuckError
from tests.attacks.drawn import HOSTILE, noise

FLAGS = (
    *("clear_cache", "set_run_on_save", "stop_script", "load_git_info", "app_heartbeat"),
    *("debug_disconnect_websocket", "debug_shutdown_runtime"),
)
HUGE = 2**20  # characters
GOOD = "notation"  # a page that shows what its link says
ASKED = 3  # times at most for one page: a run may be lost, or what ends be the one before

WRONG = {  # a value that no browser sends for a widget, by the field of the protocol
    "a number for words": {"int_value": -3},
    "words for a number": {"string_value": "x" * 100_000},
    "no number": {"double_value": float("nan")},
    "numbers that are none": {"double_array_value": {"data": [float("nan"), 1e308]}},
    "no numbers": {"double_array_value": {"data": []}},
    "an index that is none": {"int_array_value": {"data": [-1, 99]}},
    "several words": {"string_array_value": {"data": ["a", "b"]}},
    "a press": {"trigger_value": True},
    "bytes": {"bytes_value": b"\x00"},
    "JSON that breaks off": {"json_value": "{"},
    "JSON of another kind": {"json_value": '{"cell": {"chart": 1}}'},
    "a list of presses": {"json_trigger_value": "[1]"},
    "a file": {"file_uploader_state_value": {}},
    "nothing": {},
}


def exchange(session, message, url, mark):
    """Send a message, and then a good one; the session to go on with, a new one if it was closed.

    Raises:
        StuckError: the good one is not answered, by another page, or with an error beside.
    """
    with suppress(StuckError):  # the server hangs up on a message that is too large
        session.send(message)
    for _ in range(ASKED):
        try:
            seen = session.open(GOOD, f"notation_search={mark}")
        except StuckError:
            if session.closed:
                session = Session(url, patience=session.patience)
            continue
        if mark in seen.texts:
            break
    else:
        raise StuckError(f"another page: {session.glimpse()}")
    if seen.exceptions:
        raise StuckError(f"shows {seen.exceptions}")
    return session


def forged(draw: Random, seen, state):
    """A message, or bytes that are none, from what a visitor sees and how its tab stands."""
    message = BackMsg()
    match draw.randrange(12):
        case 0 | 1 | 2 | 3:
            message.rerun_script.CopyFrom(state)
            message.rerun_script.widget_states.widgets.extend(widgets(draw, seen))
        case 4 | 5:
            message.rerun_script.CopyFrom(state)
            misplaced(draw, message.rerun_script)
        case 6:
            ParseDict({draw.choice(FLAGS): draw.random() < 0.8}, message)
        case 7:
            asked = message.file_urls_request
            asked.request_id, asked.session_id = text(draw), session_id(draw, seen)
            asked.file_names.extend(text(draw) for _ in range(draw.choice([0, 1, 20, 2000])))
        case 8:
            operation(draw, message.backend_operation_request, seen)
        case 9:
            return b""
        case 10:
            return draw.randbytes(draw.choice([1, 2, 8, 100, 10_000]))
        case 11:
            message.rerun_script.CopyFrom(state)
            message.rerun_script.widget_states.widgets.extend(widgets(draw, seen))
            raw = message.SerializeToString()
            return raw[: draw.randrange(len(raw) + 1)]
    return message


def widgets(draw: Random, seen):
    """States of some widgets that there are, and of some that there are not."""
    ids = [widget.id for _, widget in seen.widgets] or [""]
    for _ in range(draw.choice([1, 1, 2, 5])):
        identity = draw.choice(ids) if draw.random() < 0.8 else text(draw)
        yield WidgetState(id=identity, **of_any_type(draw))


def of_any_type(draw: Random):
    """One field of a widget's state, whatever the widget is."""
    number = draw.choice([0, -1, 1, 2**31, -(2**63), 2**63 - 1])
    real = draw.choice([0.5, -1.0, 1e308, float("nan"), float("inf"), 7.0])
    many = draw.choice([0, 1, 2, 3, 1000])
    info = {"name": text(draw), "size": abs(number), "file_id": text(draw)}
    options = {
        "trigger_value": True,
        "bool_value": draw.random() < 0.5,
        "double_value": real,
        "int_value": number,
        "string_value": text(draw),
        "double_array_value": {"data": [real] * many},
        "int_array_value": {"data": [number] * many},
        "string_array_value": {"data": [text(draw)] * many},
        "json_value": draw.choice(["{", "[]", '{"a": 1}', "null", "NaN", "[" * 5000, text(draw)]),
        "json_trigger_value": draw.choice(["{", "[]", '{"cell": 1}', '{"cell": {"x": "a"}}', "1"]),
        "bytes_value": draw.randbytes(20),
        "arrow_value": {"data": draw.randbytes(30)},
        "file_uploader_state_value": {"uploaded_file_info": [info] * draw.choice([0, 1, 50])},
        "string_trigger_value": {"data": text(draw)},
        "chat_input_value": {"data": text(draw)},
    }
    name = draw.choice(list(options))
    return {name: options[name]}


def misplaced(draw: Random, state):
    """A page, a fragment or a browser that there is not."""
    match draw.randrange(6):
        case 0:
            state.page_script_hash = text(draw)
        case 1:
            state.page_script_hash, state.page_name = "", text(draw)
        case 2:
            state.fragment_id = text(draw)
        case 3:
            state.query_string = draw.choice(["&" * 9999, "=", "%", "a=" * 3000, text(draw)])
        case 4:
            state.cached_message_hashes.extend(text(draw) for _ in range(500))
        case 5:
            browser = state.context_info
            browser.timezone, browser.locale, browser.url = text(draw), text(draw), text(draw)
            browser.timezone_offset = draw.choice([0, 2**31 - 1, -(2**31)])
            browser.color_scheme = text(draw)
    state.is_auto_rerun, state.is_history_navigation = draw.random() < 0.3, draw.random() < 0.3


def operation(draw: Random, request, seen):
    """Something to be done on the server."""
    request.request_id, request.session_id = text(draw), session_id(draw, seen)
    match draw.randrange(3):
        case 0:
            request.deferred_file.file_id = text(draw)
        case 1:
            request.dataframe_chunk.source_id = text(draw)
            request.dataframe_chunk.offset = 2**63
        case 2:
            request.dismiss_skills_nudge.SetInParent()


def session_id(draw: Random, seen):
    return draw.choice([seen.session_id, seen.session_id, "", text(draw)])


def text(draw: Random):
    """A text that protobuf can carry; rarely a very long one."""
    if draw.random() < 0.01:
        return "x" * HUGE
    return draw.choice([*HOSTILE, noise(draw)])
