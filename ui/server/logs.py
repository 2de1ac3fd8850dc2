"""The log as lines of JSON (MLA_LOG=json), without a word of what visitors wrote or asked for.

A message is told as it stands in the code, without what is filled in; one that was put together is
not told at all, only its place. Of an error its type and its way through the code are told.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from functools import wraps

from streamlit import logger as streamlits

FIELDS = "reference", "page"  # what our own code says beside its message, with `extra`


class Lines(logging.Formatter):
    """A record as one object."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "place": f"{record.filename}:{record.lineno}",
        }
        if _is_literal(record):
            said["message"] = record.msg
        said |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[1]:
            said |= _error(record.exc_info[1])
        return json.dumps(said)


def as_json() -> None:
    """Let every logger that there is, or will be, write such lines."""
    lines = Lines()
    if not logging.root.handlers:
        logging.root.addHandler(logging.StreamHandler())
    loggers = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict)]
    for handler in {one for log in [logging.root, *loggers] for one in log.handlers}:
        handler.setFormatter(lines)
    set_up = streamlits.setup_formatter

    @wraps(set_up)
    def set_up_lines(log: logging.Logger) -> None:
        set_up(log)
        log.streamlit_console_handler.setFormatter(lines)

    streamlits.setup_formatter = set_up_lines


def _is_literal(record: logging.LogRecord) -> bool:
    """Whether the message stands so in the function that logs: a caller of this one."""
    frame = sys._getframe()
    place = record.pathname, record.funcName
    while frame and (frame.f_code.co_filename, frame.f_code.co_name) != place:
        frame = frame.f_back
    return bool(frame) and record.msg in frame.f_code.co_consts


def _error(error: BaseException) -> dict[str, object]:
    steps = traceback.extract_tb(error.__traceback__)
    way = [f"{step.filename}:{step.lineno} {step.name}" for step in steps]
    return {"error": type(error).__qualname__, "trace": way}
