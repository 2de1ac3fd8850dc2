"""A line of the log as JSON has nothing of what was filled into its text, and says the rest."""

import json
import logging

import pytest

from ui.server.logs import Lines

SECRET = "s3cret"


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
    assert first["place"].startswith("test_log_lines.py:")
    for other in (second, third):
        assert "message" not in other
        assert other["place"].startswith("test_log_lines.py:")
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
