"""A server takes files, messages and questions from strangers without harm."""

import http.client
import socket
from urllib.parse import urlparse

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests import patience
from tests.attacks.client import Session, StuckError
from tests.attacks.forged import WRONG
from tests.attacks.server import copied, running

MIB = 2**20


def put(app, session, *, name="a", length=MIB, body=b""):
    """The status of an upload of which perhaps nothing but its head is sent."""
    place = urlparse(app.url)
    line = http.client.HTTPConnection(place.hostname, place.port, timeout=patience.SECONDS)
    token = app.get("/_stcore/health")[1]["Set-Cookie"].split(";")[0].partition("=")[2]
    line.putrequest("PUT", f"/_stcore/upload_file/{session}/{name}")
    line.putheader("Content-Type", "multipart/form-data; boundary=x")
    line.putheader("X-Xsrftoken", token)
    line.putheader("Cookie", f"_streamlit_xsrf={token}")
    if length is not None:
        line.putheader("Content-Length", str(length))
    line.endheaders(body)
    status = line.getresponse().status
    line.close()
    return status


def form(content):
    head = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    return head + content + b"\r\n--x--\r\n"


def upload(app, session, content, name="a"):
    body = form(content)
    return put(app, session, name=name, length=len(body), body=body)


def test_files_are_taken_only_where_a_page_asks_for_them(app):
    with Session(app.url) as visitor:
        session = visitor.open("quiz").session_id
        assert upload(app, session, b"x") == 403
        session = visitor.open("real_models").session_id
        assert upload(app, session, b"x") == 204
        visitor.open("quiz")
        assert upload(app, session, b"x") == 403
    assert upload(app, "nobody", b"x") == 403


def test_a_refused_file_is_not_read(app):
    with Session(app.url) as visitor:
        session = visitor.open("quiz").session_id
        assert put(app, session, length=50 * MIB) == 403  # answered before anything was sent
        session = visitor.open("real_models").session_id
        assert put(app, session, length=2**40) == 413
        assert put(app, session, length=None) == 411


def test_a_visitor_keeps_few_files(app):
    with Session(app.url) as visitor:
        session = visitor.open("real_models").session_id
        taken = [upload(app, session, b"x", f"file{number}") for number in range(30)]
    few = taken.index(413)
    assert taken == [204] * few + [413] * (30 - few)
    assert few > 0


def test_the_metrics_are_closed_unless_the_operator_opens_them(app):
    for path in ("/metrics", "/_stcore/metrics"):
        assert app.get(path)[0] == 404
    assert app.get("/healthz")[::2] == (200, b"ok")
    with running({"MLA_METRICS": "1", "MLA_MOST_VISITORS": "1"}) as other:
        assert other.get("/_stcore/metrics")[0] == 200
        with Session(other.url) as visitor:
            visitor.open()
            with pytest.raises(Exception, match="403"):  # every place is taken
                Session(other.url)


@pytest.mark.parametrize("path", ["/", "/rope", "/_stcore/health", "/_stcore/metrics"])
def test_every_answer_has_the_headers(app, path):
    headers = app.get(path)[1]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'self' https://huggingface.co" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]


HEADS = {  # the head of a request, and what the server answers
    "one header": (b"x: " + b"y" * 24 * MIB, 431),
    "many headers": (b"\r\n".join(b"x%d: y" % n for n in range(2**21)), 431),
    "a name": (b"x" * 24 * MIB + b": y", 431),
    "a bit too long": (b"x: " + b"y" * 2**17, 431),
    "as browsers send": (b"cookie: " + b"y" * 8000, 200),
}


@pytest.mark.parametrize("path", ["/_stcore/health", "/_stcore/stream"])
@pytest.mark.parametrize("name", HEADS)
def test_headers_without_end_are_refused(app, name, path):
    head, wanted = HEADS[name]
    assert _answer(app, path, head) == wanted
    assert _answer(app, "/" + "a" * 2**17, b"x: y") == 431
    assert app.get("/_stcore/health")[0] == 200


def _answer(app, path, head):
    """The status of an answer, which may come before all is sent: that is then a closed line."""
    place = urlparse(app.url)
    with socket.create_connection((place.hostname, place.port), patience.SECONDS) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nhost: {place.netloc}\r\n".encode())
        try:
            line.sendall(head + b"\r\nconnection: close\r\n\r\n")
            answer = line.recv(64)
        except (ConnectionResetError, BrokenPipeError):
            return 431
    return int(answer.split()[1]) if answer else 431


@pytest.mark.parametrize("kind", ["slider", "button_group", "selectbox"])
def test_messages_of_a_wrong_type_do_not_break_their_session(app, kind):
    lines = len(app.log.splitlines())
    with Session(app.url) as visitor:
        visitor.open("rope")
        for wrong in WRONG.values():
            visitor.touch(visitor.seen.widget(kind), **wrong)
            assert not visitor.seen.exceptions, wrong
        visitor.state.widget_states.Clear()
        slider = visitor.seen.widget("slider", "n_h")
        good = visitor.touch(slider, string_array_value={"data": ["2"]})
        assert not good.exceptions
        assert "n_heads" in good.query, "the session answers no more"
    assert "Traceback" not in "\n".join(app.log.splitlines()[lines:])


def test_what_is_asked_for_in_vain_is_one_line_of_the_log(app):
    lines = len(app.log.splitlines())
    with Session(app.url) as visitor:
        asked = BackMsg()
        asked.backend_operation_request.session_id = visitor.open("rope").session_id
        asked.backend_operation_request.deferred_file.file_id = "100%s"
        visitor.send(asked)
        visitor.answers("backend_operation_response")
        visitor.send(b"no message")
        with pytest.raises(StuckError, match="ConnectionClosed"):
            visitor.answers("nothing")  # the server hangs up
    log = "\n".join(app.log.splitlines()[lines:])
    assert "100%s" in log
    assert "Error deserializing back message: DecodeError" in log
    assert "Traceback" not in log


def test_a_whole_number_is_read_as_the_browser_sends_it(app):
    before = app.log.count("passed over a message")
    with Session(app.url) as visitor:
        head = visitor.open("rope", "rope_head=3").widget("number_input", "Head,")
        seen = visitor.touch(head, int_value=4)
    assert seen.query == "rope_head=4"
    assert app.log.count("passed over a message") == before


def test_what_a_reader_did_is_kept_beside_an_older_address(app):
    with Session(app.url) as visitor:
        head = visitor.open("rope", "rope_head=3").widget("number_input", "Head,")
        visitor.touch(head, int_value=4)
        visitor.state.query_string = "rope_head=3"  # as of a browser that has not heard of 4 yet
        slider = visitor.seen.widget("slider", "n_h")
        seen = visitor.touch(slider, string_array_value={"data": ["8"]})
        assert "rope_head=4" in seen.query
        assert "n_heads=8" in seen.query
        seen = visitor.open("rope", "rope_head=3")  # goes back
        assert seen.widget("number_input", "Head,").value == 3


ODD = {
    "an unknown page": {"page_script_hash": "0" * 32},
    "a page that is no name": {"page_name": "../../etc/passwd"},
    "a huge name": {"page_name": "x" * 100_000},
    "an unknown fragment": {"fragment_id": "x"},
    "a query that is none": {"query_string": "%ff&&&==&a=%00"},
    "many parameters": {"query_string": "&".join(f"a{n}=1" for n in range(2000))},
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_request_leaves_the_session_alive(app, odd):
    lines = len(app.log.splitlines())
    with Session(app.url) as visitor:
        texts = list(visitor.open("rope").texts)
        asked = BackMsg()
        asked.rerun_script.CopyFrom(visitor.state)
        for name, value in ODD[odd].items():
            setattr(asked.rerun_script, name, value)
        visitor.send(asked)
        seen = visitor.open("rope")
        while seen.texts != texts:  # of the odd one, before it
            seen = visitor.finished()
        assert not seen.exceptions
    assert "Traceback" not in "\n".join(app.log.splitlines()[lines:])


def test_a_page_that_fails_says_the_reference_that_the_log_has(tmp_path):
    fails = "if state.settings()['notation_search']: raise OSError('planted')"
    begins = "with page.frame(PAGE) as frame:"
    change = (begins, f"from ui.settings import state\n{begins}\n    {fails}")
    tree = copied(tmp_path, {"pages/notation.py": change})
    with running(root=tree) as app, Session(app.url) as visitor:
        seen = visitor.open("notation", "notation_search=x&lang=en")
        assert not seen.exceptions
        said = [text for text in seen.texts if "reference" in text]
        assert len(said) == 1
        reference = said[0].split("**")[1]
        assert app.log.count(reference) == 1
        assert app.log.count("Traceback") == 1
        assert "planted" in app.log
        assert any(kind == "slider" or kind == "button" for kind, _ in seen.widgets)
        fresh = visitor.touch(seen.widget("button", "anew"), trigger_value=True)
        assert not any("reference" in text for text in fresh.texts)
        assert not fresh.exceptions
