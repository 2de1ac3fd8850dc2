"""The proxy that is shipped, before real processes: who goes where, what is closed and bounded."""

import gzip
import http.client
import json
import os
import signal
import ssl
import subprocess
from collections import Counter
from urllib.parse import urlparse

import pytest
from websockets.exceptions import InvalidStatus

from tests import patience
from tests.attacks.client import Session
from tests.attacks.server import own_ports
from tests.attacks.test_compressed import GZIP, LARGEST, path_of
from tests.attacks.test_server import form
from tests.deploy.proxied import as_visitor_of, proxy, wait_until

ONCE = (
    "Content-Security-Policy",
    "X-Content-Type-Options",
    "Referrer-Policy",
)


def upload(front, session, port):
    """The status of a small file that a visitor of a process sends to his session."""
    cookies = as_visitor_of(port)["Cookie"]
    token = front.get("/_stcore/health", Cookie=cookies)[1]["Set-Cookie"].split(";")[0]
    place = urlparse(front.url)
    line = http.client.HTTPConnection(place.hostname, place.port, timeout=patience.SECONDS)
    headers = {
        "Content-Type": "multipart/form-data; boundary=x",
        "X-Xsrftoken": token.partition("=")[2],
        "Cookie": f"{token}; {cookies}",
    }
    line.request("PUT", f"/_stcore/upload_file/{session}/a", form(b"x"), headers)
    status = line.getresponse().status
    line.close()
    return status


def test_visitors_without_a_cookie_are_spread_evenly_and_keep_their_process(front, two):
    given = Counter(front.first_visit() for _ in range(20))
    assert given == dict.fromkeys(two.ports, 10)
    for port in two.ports:
        headers = [front.get("/rope", **as_visitor_of(port))[1] for _ in range(5)]
        assert [front.given(one) for one in headers] == [None] * 5


def test_a_false_cookie_is_a_first_visit(front, two):
    for false in ("1", "x", f"{two.ports[0]}0", "everyone", "%00"):
        headers = front.get("/", Cookie=f"mla_process={false}")[1]
        assert front.given(headers) in two.ports


def test_a_page_is_drawn_through_the_proxy_and_its_upload_finds_its_process(front, two):
    first, second = two.ports
    with Session(front.url, headers=as_visitor_of(first)) as visitor:
        seen = visitor.open("real_models")
        assert not seen.exceptions
        assert upload(front, seen.session_id, first) == 204
        assert upload(front, seen.session_id, second) == 403  # as without a cookie, half the time


def test_who_comes_without_a_cookie_learns_where_his_session_is(front, two):
    with Session(front.url) as visitor:
        given = front.given(visitor.connection.response.headers)
        assert given in two.ports
        assert upload(front, visitor.open("real_models").session_id, given) == 204


@pytest.mark.parametrize(
    "path",
    ["/metrics", "/_stcore/metrics", "/healthz", "/rope/_stcore/metrics", "/_stcore/health"],
)
def test_metrics_and_health_are_closed(front, two, path):
    assert two.app(two.ports[0]).get(path)[0] == 200  # and open behind the proxy
    for asked in (path, f"{path}?x", f"/.{path}", path.replace("m", "%6d").replace("h", "%68")):
        status, _, body = front.get(asked)
        assert status == 404, asked
        assert b"starting" not in body


def test_the_page_itself_may_ask_for_the_health(front, two):
    """Streamlit's page does before it connects; what it gets with it guards uploads."""
    status, headers, body = front.get("/_stcore/health", **as_visitor_of(two.ports[0]))
    assert (status, body) == (200, b"ok")
    assert "_streamlit_xsrf" in headers["Set-Cookie"]


@pytest.mark.parametrize("path", ["/", "/rope", path_of(LARGEST), "/metrics", "/_stcore/stream"])
def test_every_answer_has_the_headers_once(front, path):
    for _ in range(2):  # the second may come out of the cache
        headers = front.get(path, **GZIP)[1]
        assert [len(headers.get_all(name) or []) for name in ONCE] == [1] * len(ONCE), path
        assert "nginx/" not in headers.get("Server", "")


def test_scripts_come_compressed_once_for_all_and_for_a_year(front, two):
    path = path_of(LARGEST)
    cold = front.get(path, **GZIP)
    pids = [two.pid(port) for port in two.ports]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # nobody but the proxy can answer
    try:
        kept = front.get(path, **GZIP, **as_visitor_of(two.ports[1]))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    for status, headers, body in (cold, kept):
        assert (status, headers["Content-Encoding"]) == (200, "gzip")
        assert "immutable" in headers["Cache-Control"]
        assert "max-age=31536000" in headers["Cache-Control"]
        assert front.given(headers) is None
        assert gzip.decompress(body) == LARGEST.read_bytes()
    plain = front.get(path)
    assert plain[2] == LARGEST.read_bytes()
    assert "Content-Encoding" not in plain[1]


def test_the_page_itself_is_compressed_and_asked_for_again(front):
    _, headers, body = front.get("/", **GZIP)
    assert headers["Content-Encoding"] == "gzip"
    assert headers["Cache-Control"] == "no-cache"
    assert b'<div id="root">' in gzip.decompress(body)


def test_one_address_has_a_bound_of_sockets_and_bodies_have_one(two):
    with proxy(two.ports, {"MLA_ADDRESS_SOCKETS": "2"}) as narrow:
        with Session(narrow.url), Session(narrow.url) as visitor:
            with pytest.raises(InvalidStatus) as refused:
                Session(narrow.url)
            assert refused.value.response.status_code == 429
            assert not visitor.open("rope").exceptions
        place = urlparse(narrow.url)
        for path, most in (("/", 64 * 2**10), ("/_stcore/upload_file/a/b", 66 * 2**20)):
            line = http.client.HTTPConnection(place.hostname, place.port, timeout=patience.SECONDS)
            line.putrequest("PUT", path)
            line.putheader("Content-Length", str(most + 1))
            line.endheaders()  # nothing of it needs to be sent
            assert line.getresponse().status == 413
            line.close()


def test_a_proxy_before_it_is_believed_only_where_it_is_named(two):
    def sockets(front):
        """Let in two visitors of two addresses, as a proxy before this one names them."""
        first, second = ({"X-Forwarded-For": address} for address in ("192.0.2.1", "192.0.2.2"))
        with Session(front.url, headers=first), Session(front.url, headers=second):
            return True

    with proxy(two.ports, {"MLA_ADDRESS_SOCKETS": "1", "MLA_PROXY_TRUSTS": "127.0.0.1"}) as behind:
        assert sockets(behind)
    with proxy(two.ports, {"MLA_ADDRESS_SOCKETS": "1"}) as alone, pytest.raises(InvalidStatus):
        sockets(alone)


def test_it_speaks_https_and_its_cookie_then_goes_no_other_way(two, front, tmp_path):
    names = "-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*made, *names], check=True, capture_output=True)
    with proxy(two.ports, {"MLA_TLS_FOLDER": str(tmp_path)}) as safe:
        place = urlparse(safe.url)
        context = ssl.create_default_context(cafile=tmp_path / "fullchain.pem")
        context.check_hostname = False
        line = http.client.HTTPSConnection(
            place.hostname, place.port, context=context, timeout=patience.SECONDS
        )
        line.request("GET", "/")
        answer = line.getresponse()
        assert answer.status == 200
        assert answer.headers["Set-Cookie"].endswith("; Secure")
        line.close()
    ended_before = front.get("/", **{"X-Forwarded-Proto": "https"})[1]["Set-Cookie"]
    assert ended_before.endswith("; Secure")
    assert "Secure" not in front.get("/")[1]["Set-Cookie"]


def test_the_log_says_nothing_of_who_asks_for_what(two, tmp_path):
    log = tmp_path / "log"
    tmp_path.chmod(0o755)
    with proxy(two.ports, {"MLA_PROXY_LOG": str(log)}) as front:
        front.get("/secret-path?secret=query", Referer="http://secret.example")
        front.get("/metrics")
        lines = wait_until(lambda: two_lines(log), "both are logged")
    assert all(set(line) == {"time", "method", "status", "bytes", "seconds", "process"}
               for line in map(json.loads, lines))  # fmt: skip
    assert "secret" not in "".join(lines)
    assert "127.0.0.1" not in "".join(lines)


def two_lines(log):
    lines = log.read_text().splitlines() if log.exists() else []
    return lines[-2:] if any('"status":404' in line for line in lines) else None


def test_while_nobody_is_ready_a_page_says_so_and_tries_again():
    with proxy(own_ports(2)) as front:
        status, headers, body = front.get("/rope")
        assert status == 503
        assert headers["Retry-After"] == "3"
        assert b'http-equiv="refresh"' in body
        assert "正在启动" in body.decode()
        assert len(headers.get_all("Content-Security-Policy")) == 1
