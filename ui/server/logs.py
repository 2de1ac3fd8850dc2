"""The log, as text or as lines of JSON (MLA_LOG=json) without a word of what visitors wrote.

A line of JSON has the message as it stands in the code, without what is filled in; of one that was
put together it has only the place. Of an error it has the type and its way through the code.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from logging.config import dictConfig

import streamlit as st
from google.protobuf.message import DecodeError

from ui.streamlit_internals import (
    CACHE_LOG,
    ERROR_LOG,
    ERROR_MESSAGE,
    MESSAGE_LOGS,
    MediaFileStorageError,
    send_logs_to_root,
)

FIELDS = "reference", "page"  # what our own code says beside its message, with `extra`
OURS = "ui", "mla_engine", "kvcount"
SERVERS = "uvicorn", "uvicorn.error"  # its log of requests stays silent, as Streamlit has it
STRANGERS = DecodeError, MediaFileStorageError  # no message; a file that there is not


class Lines(logging.Formatter):
    """Formats a record as one object of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
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


def configure(kind: str) -> None:
    """Write the app's own log as "text", as Streamlit writes its own, or all logs as "json"."""
    text = {"format": st.get_option("logger.messageFormat")}
    level = st.get_option("logger.level").upper()
    ours = {"level": level} if kind == "json" else {"level": level, "handlers": ["console"]}
    to_root = {"handlers": [], "propagate": True}
    silent = {"uvicorn.access": {"handlers": [], "propagate": False}}
    servers = dict.fromkeys(SERVERS, to_root) | silent if kind == "json" else {}
    dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"text": text, "json": {"()": Lines}},
            "handlers": {"console": {"class": "logging.StreamHandler", "formatter": kind}},
            "loggers": dict.fromkeys(OURS, ours) | {CACHE_LOG: {"level": "ERROR"}} | servers,
            "root": {"handlers": ["console"] if kind == "json" else []},
        }
    )
    if kind == "json":
        send_logs_to_root()


def leave_errors_to_us() -> None:
    """Drop what Streamlit logs of an error on a page, which `ui.frame.fault` has logged.

    What a stranger's message asks for in vain is one line, without the way there.
    """
    logging.getLogger(ERROR_LOG).addFilter(lambda record: record.msg != ERROR_MESSAGE)
    for name in MESSAGE_LOGS:
        logging.getLogger(name).addFilter(_shorten)


def _shorten(record: logging.LogRecord) -> bool:
    if record.exc_info and isinstance(record.exc_info[1], STRANGERS):
        record.msg = f"{record.getMessage():.200}: {record.exc_info[1]!r:.200}"
        record.args, record.exc_info = (), None
    return True


def _is_literal(record: logging.LogRecord) -> bool:
    """Tell whether the message stands so in the function that logs: a caller of this one."""
    frame = sys._getframe()  # noqa: SLF001 - as `inspect` does
    place = record.pathname, record.funcName
    while frame and (frame.f_code.co_filename, frame.f_code.co_name) != place:
        frame = frame.f_back
    return bool(frame) and record.msg in frame.f_code.co_consts


def _error(error: BaseException) -> dict[str, object]:
    steps = traceback.extract_tb(error.__traceback__)
    way = [f"{step.filename}:{step.lineno} {step.name}" for step in steps]
    return {"error": type(error).__qualname__, "trace": way}
