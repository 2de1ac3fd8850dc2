"""Links for somebody else: the address they begin with, what they leave out, the QR code."""

import html
import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import pytest
import segno
from streamlit.testing.v1 import AppTest

from mla_engine import worked_example
from tests.ui.screen import says
from ui.frame.pages import PAGES
from ui.settings import address
from ui.settings.server import web_address

HOME = "https://mla.example.org"
LOCAL = ("localhost", "a.localhost", "127.0.0.1", "127.8.9.1", "0.0.0.0", "[::1]", "[::]")
ELSEWHERE = ("192.168.1.7", "[fe80::1]", "localhost.example.org")


def shared(at: AppTest) -> str:
    """Click the button, and return the link in large type, which the code holds, too."""
    at.button(key="share").click().run()
    assert not at.exception
    body = "".join(e.proto.body for e in at.get("html"))
    link = html.unescape(re.search(r'<p class="share-link[^>]*>(.*?)</p>', body)[1])
    code = html.unescape(re.search(r'src="(data:image/svg.*?)"', body)[1])
    assert strokes(code) == strokes(segno.make_qr(link, error="l").svg_data_uri(border=4))
    return link


def strokes(picture: str) -> str:
    """Return the path of a code's dark modules, of an SVG as a data URI."""
    return re.search(r"stroke.*? d='(.*?)'", unquote(picture))[1]


def warnings(at: AppTest) -> str:
    return " ".join(w.value for w in at.warning)


@pytest.mark.parametrize(
    "text",
    [
        *("mla.example.org", "ftp://a", "https://", "https://[bad", "https://a b", " https://a"),
        *("//me:word@a", "//a:99999", "//a:0", "//a?b=1", "//a?", "//a#", "//<b>"),
    ],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - the page words it
        web_address(f"https:{text}" if text.startswith("//") else text)


def test_an_address_keeps_its_path_and_loses_the_last_slash():
    assert web_address("http://10.0.0.4:8501/lecture/") == "http://10.0.0.4:8501/lecture"
    assert web_address("") == ""


@pytest.mark.parametrize(
    ("host", "local"),
    [(host, True) for host in LOCAL] + [(host, False) for host in ELSEWHERE],
)
def test_only_this_machine_reaches_itself(host, local):
    assert address.is_local(f"http://{host}:8501/kv_cache?lang=en") is local


def test_the_code_holds_the_public_link_without_what_is_personal(opened, monkeypatch):
    monkeypatch.setenv("PUBLIC_URL", f"{HOME}/")
    at = opened("pages/quiz.py", n_heads="8", quiz_answers="01", lecture="1", lang="zh")
    link = shared(at)
    assert link == f"{HOME}/quiz?lang=zh&n_heads=8"
    assert not at.warning


def test_a_local_address_and_a_long_link_are_shown_with_what_to_do(opened, monkeypatch):
    monkeypatch.setenv("PUBLIC_URL", "http://localhost:8501")
    at = opened("pages/notation.py", notation_search="x" * 60)
    shared(at)
    assert "Phones cannot reach" in warnings(at)
    assert "characters" not in warnings(at)
    monkeypatch.setenv("PUBLIC_URL", HOME)
    at = opened("pages/notation.py", notation_search="潜" * 60)
    link = shared(at)
    assert unquote(link).endswith("潜" * 60)
    assert says(warnings(at), "share.long", count=len(link))
    assert says(warnings(at), "share.long")
    assert "Phones" not in warnings(at)


@pytest.mark.parametrize(("length", "long"), [(300, False), (301, True)])
def test_a_link_of_more_than_300_characters_stands_below_what_to_do(
    opened, monkeypatch, length, long
):
    monkeypatch.setenv("PUBLIC_URL", HOME)
    rest = f"{HOME}/notation?lang=en&map_text="
    at = opened("pages/notation.py", map_text="x" * (length - len(rest)))
    assert len(shared(at)) == length
    assert ("characters" in warnings(at)) == long
    body = "".join(e.proto.body for e in at.get("html"))
    assert ('class="share-link long"' in body) == long


def test_a_link_has_at_most_2000_characters_with_its_address(opened, monkeypatch):
    monkeypatch.setenv("PUBLIC_URL", HOME)
    assert len("attention_maps") == max(map(len, PAGES))
    rest = f"{HOME}/attention_maps?lang=en&map_text="
    longest = "a b c d e f g h i j ".ljust(2000 - len(rest), "x")
    at = opened("pages/attention_maps.py", map_text=longest)
    assert shared(at) == rest + longest.replace(" ", "+")
    assert not any("room" in w.value for w in at.warning)
    at = opened("pages/attention_maps.py", map_text=longest + "x")
    assert shared(at) == f"{HOME}/attention_maps?lang=en"
    assert "at most 2,000 characters" in at.warning[0].value
    assert "“map_text”" in at.warning[0].value


def test_the_longest_texts_leave_the_address_too(opened):
    text = "".join(chr(0x4E00 + n) for n in range(900))
    at = opened("pages/attention_maps.py", text=text, seed="3")
    assert len(quote(text)) > address.OWN
    assert dict(at.query_params) == {"seed": "3"}
    assert at.session_state["settings"]["text"] == text


def test_the_longest_matrices_leave_the_link_and_no_more(opened):
    given = {f"we_{name}": filled(name) for name in worked_example.MATRICES}
    at = opened("pages/worked_example.py", we_step="2", **given)
    assert not at.error
    link = shared(at)
    told = dict(parse_qsl(urlsplit(link).query))
    gone = set(given) - set(told)
    assert gone
    assert set(told) == {"we_step", "lang"} | set(given) - gone
    lengths = {name: len(urlencode({name: text})) for name, text in given.items()}
    assert min(lengths[name] for name in gone) >= max(
        lengths[name] for name in told if name in given
    )
    assert len(urlencode(told)) < 2000
    assert len(urlencode(told)) + min(lengths[name] for name in gone) > 2000 - len(
        "/attention_maps?&"
    )
    assert all((f"“{name}”" in at.warning[0].value) is (name in gone) for name in given)
    assert set(dict(at.query_params)) == {"we_step"} | set(given)  # of a reload nothing is lost


def filled(name: str) -> str:
    """Return a matrix of the example's shape with long numbers, in columns."""
    rows = worked_example.default(name)
    return "; ".join("    ".join(["-0.123456789"] * len(row)) for row in rows)
