"""An address without a page: where the browser is led, beside any base path, and what is said."""

from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from streamlit import config

from ui.frame.pages import PAGES
from ui.server.answers import UnknownPages

HTML = "text/html,application/xhtml+xml"


def answered(path: str, query: str = "", accept: str = HTML) -> str | None:
    """Return the address that a browser is led to from a path; None where Streamlit answers."""
    sent, handed_on = [], []

    async def app(*_: object) -> None:
        handed_on.append(True)

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "query_string": query.encode()}
    scope["headers"] = [(b"accept", accept.encode())]
    with pytest.raises(StopIteration):  # to its end, without a loop: a browser's may be running
        UnknownPages(app)(scope, None, send).send(None)
    if handed_on:
        assert not sent
        return None
    assert sent[0]["status"] == 307
    location = dict(sent[0]["headers"])[b"location"].decode()
    return urljoin(f"http://host{path}", location)


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/static/js/index.html", "/media/a.png"])
def test_what_is_there_is_handed_on(path):
    assert answered(path) is None


def test_every_page_is_handed_on_and_so_is_what_no_reader_asks_for():
    assert [name for name in PAGES if answered(f"/{name}")] == ["overview"]
    assert answered("/overview", "n_heads=8") == "http://host/?n_heads=8"
    assert answered("/no_such_page", accept="*/*") is None


@pytest.mark.parametrize("path", ["/quality", "/quality/"])
@pytest.mark.parametrize("base", ["", "/lecture"])
def test_a_former_page_leads_to_the_one_that_took_it_in_with_all_settings(monkeypatch, path, base):
    get = config.get_option
    monkeypatch.setattr(
        "streamlit.get_option", lambda name: base if name == "server.baseUrlPath" else get(name)
    )
    given = "quality_task=copy&quality_kept=192&lang=zh&plain=1"
    found = urlsplit(answered(base + path, given))
    assert (found.path, found.query) == (f"{base}/compression", given)


def test_a_former_name_of_a_setting_means_it_and_what_it_is_called_now_is_before_it(opened):
    at = opened("pages/compression.py", quality_kept="192", quality_kind="novels")
    assert not at.warning
    assert dict(at.query_params) == {"cmp_kept": "192", "cmp_kind": "novels"}
    at = opened("pages/kv_cache.py", quality_kept="192", cmp_kept="64")
    assert not at.warning
    assert dict(at.query_params) == {"cmp_kept": "64"}
    at = opened("pages/compression.py", quality_kept="many")
    assert "many" in at.warning[0].value


@pytest.mark.parametrize("path", ["/gone", "/gone/", "/a/gone", "/a/b/gone"])
@pytest.mark.parametrize("base", ["", "/lecture"])
def test_an_unknown_page_leads_to_the_overview_with_its_name(monkeypatch, path, base):
    get = config.get_option
    monkeypatch.setattr(
        "streamlit.get_option", lambda name: base if name == "server.baseUrlPath" else get(name)
    )
    found = urlsplit(answered(base + path, "n_heads=8&lang=zh"))
    assert found.path == f"{base}/"
    assert parse_qs(found.query) == {"n_heads": ["8"], "lang": ["zh"], "asked_page": ["gone"]}


def test_an_odd_name_is_no_header_and_no_other_host():
    found = urlsplit(answered("//evil.example\r\nx/<b>词" + "y" * 99))
    assert found.netloc == "host"
    (name,) = parse_qs(found.query)["asked_page"]
    assert name == ("<b>词" + "y" * 99)[:40]


def test_the_overview_says_which_page_there_is_not(opened):
    at = opened(asked_page="<b>gone", lang="zh", n_heads="8")
    (line,) = at.warning
    assert "没有名为" in line.value
    assert "<b>" not in line.value
    assert dict(at.query_params) == {"lang": "zh", "n_heads": "8"}
