"""A page names the scripts that draw it, so that a browser fetches them while it waits."""

import re
from urllib.parse import urljoin

import pytest

LINK = re.compile(r"<([^>]+)>; rel=modulepreload")


@pytest.mark.parametrize(("page", "draws_charts"), [("/", False), ("/kv_cache", True)])
def test_every_script_that_is_named_is_there_and_charts_only_where_they_are(
    app, page, draws_charts
):
    named = LINK.findall(app.get(page)[1]["Link"])
    assert len(set(named)) == len(named) > 5
    for script in named:
        status, headers, body = app.get(urljoin(page, script))
        assert status == 200
        assert "javascript" in headers["Content-Type"]
        assert b"import" in body or b"export" in body
    assert any("PlotlyChart" in script for script in named) is draws_charts


def test_what_a_script_imports_is_named_or_stands_in_the_page(app):
    headers, page = app.get("/kv_cache")[1:]
    named = {link.rpartition("/")[2] for link in LINK.findall(headers["Link"])}
    for script in named:
        body = app.get(f"/static/js/{script}")[2].decode()
        for other in re.findall(r'from"\./([^"]+)"', body):
            assert other in named or other.encode() in page


def test_an_answer_that_is_no_page_names_none(app):
    assert "Link" not in app.get("/_stcore/health")[1]
