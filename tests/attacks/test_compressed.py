"""Streamlit's scripts and styles are sent compressed, and are what they were."""

import gzip
from pathlib import Path

import pytest
import streamlit

STATIC = Path(streamlit.__file__).parent / "static"
SCRIPTS = sorted(STATIC.glob("static/js/*.js"), key=lambda path: path.stat().st_size)
LARGEST, SMALL = SCRIPTS[-1], SCRIPTS[len(SCRIPTS) // 2]
STYLE = next(STATIC.glob("static/css/*.css"))
GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def path_of(file):
    return f"/{file.relative_to(STATIC)}"


@pytest.mark.parametrize("file", [LARGEST, SMALL, STYLE], ids=["largest", "small", "style"])
def test_a_browser_gets_the_file_in_fewer_bytes(app, file):
    for _ in range(2):  # the second time it is there
        status, headers, body = app.get(path_of(file), **GZIP)
        assert (status, headers["Content-Encoding"]) == (200, "gzip")
        assert int(headers["Content-Length"]) == len(body)
        assert "accept-encoding" in headers["Vary"].lower()
        assert gzip.decompress(body) == file.read_bytes()
        assert "content-security-policy" in headers
    if file is LARGEST:
        assert len(body) < file.stat().st_size / 2


def test_who_takes_no_compression_or_a_part_gets_it_as_it_is(app):
    for headers in ({}, GZIP | {"Range": "bytes=0-99"}, {"Accept-Encoding": "identity"}):
        status, answered, body = app.get(path_of(SMALL), **headers)
        assert "Content-Encoding" not in answered
        length = 100 if status == 206 else None
        assert body == SMALL.read_bytes()[:length]


def test_a_browser_that_has_it_is_told_so_and_nothing_else_is_touched(app):
    first = app.get(path_of(SMALL), **GZIP)[1]
    if "ETag" in first:
        assert first["ETag"].startswith("W/")
        status, _, body = app.get(path_of(SMALL), **GZIP, **{"If-None-Match": first["ETag"]})
        assert (status, body) == (304, b"")
    for path in ("/", "/static/js/none.js"):  # Streamlit's page, also for a file that there is not
        _, headers, body = app.get(path, **GZIP)
        assert "Content-Encoding" not in headers
        assert b'<div id="root">' in body


def test_a_page_that_was_kept_is_not_taken_for_the_same_after_its_styles_changed(app):
    """The front end's file stays as it is where only the app's sheet in it is another."""
    page = {"Accept": "text/html"}
    status, headers, body = app.get("/", **page)
    assert (status, body.count(b"<style>")) == (200, 1)
    assert not {"etag", "last-modified"} & {name.lower() for name in headers}
    kept = {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT", "If-None-Match": "*"}
    for name, value in kept.items():
        assert app.get("/", **page, **{name: value})[0::2] == (200, body)
