"""The log as lines of JSON has no word of what visitors wrote, and still tells what went wrong."""

import json
import logging

import pytest

from tests.attacks.client import Session, StuckError
from tests.attacks.server import copied, running
from ui.server.logs import Lines

SECRET = "s3cret"
FAILS = f"    if state.settings()['notation_search']: raise OSError('{SECRET}')"


class Handler(logging.Handler):
    """Keeps the lines; formats them where they are logged, as a stream's handler does."""

    def __init__(self):
        super().__init__()
        self.lines = []
        self.setFormatter(Lines())

    def emit(self, record):
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def log():
    one = logging.getLogger("tests.logs")
    handler = Handler()
    one.addHandler(handler)
    one.handler = handler
    yield one
    one.removeHandler(handler)


def test_a_message_is_told_as_the_code_has_it(log):
    log.warning("asked for %s by %d", SECRET, 7)
    log.warning(f"asked for {SECRET}")
    log.warning("asked for {}".format(SECRET))  # noqa: UP032 - as others write
    first, second, third = log.handler.lines
    assert first["message"] == "asked for %s by %d"
    assert (first["level"], first["logger"]) == ("warning", "tests.logs")
    assert first["place"].startswith("test_logs.py:")
    for other in (second, third):
        assert "message" not in other
        assert other["place"].startswith("test_logs.py:")
    assert SECRET not in str(log.handler.lines)


def test_of_an_error_its_type_and_its_way_are_told(log):
    try:
        int(SECRET)
    except ValueError:
        log.exception("a number that is %s", SECRET, extra={"reference": "1a2b", "other": SECRET})
    line = log.handler.lines[0]
    assert (line["error"], line["reference"]) == ("ValueError", "1a2b")
    assert line["trace"][-1].endswith(" test_of_an_error_its_type_and_its_way_are_told")
    assert SECRET not in json.dumps(line)


def test_the_server_writes_them_and_none_has_a_visitors_words(tmp_path):
    change = ("page.setup(PAGE)", f"page.setup(PAGE)\n{FAILS.strip()}")
    tree = copied(tmp_path, {"pages/notation.py": change})
    with running({"MLA_LOG": "json"}, root=tree) as app:
        with Session(app.url) as visitor:
            seen = visitor.open("notation", f"notation_search={SECRET}&lang=en")
            reference = next(t for t in seen.texts if "reference" in t).split("**")[1]
            visitor.touch(f"{SECRET}-widget", string_value=SECRET)
            visitor.open("real_models", f"checkpoint={SECRET}/{SECRET}")
            visitor.send(SECRET.encode())
            with pytest.raises(StuckError):
                visitor.answers("nothing")
        app.get(f"/media/{SECRET}")
        log = app.log
    lines = [json.loads(text) for text in log.splitlines() if text.startswith("{")]
    faults = [one for one in lines if one.get("reference") == reference]
    assert len(faults) == 1
    assert (faults[0]["error"], faults[0]["page"]) == ("OSError", "notation")
    assert any("notation.py" in step for step in faults[0]["trace"])
    assert len(lines) > 1
    assert SECRET not in log
    assert "127.0.0.1" not in "".join(text for text in log.splitlines() if text.startswith("{"))
    others = [text.strip() for text in log.splitlines() if text.strip() and text[0] != "{"]
    assert len(others) == 3  # the address, and that it is ready
