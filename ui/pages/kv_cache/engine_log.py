"""Why an engine's log has another number of tokens: the log, reconciled term by term."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from kvcount import explain_report
from kvcount.logs.engine_log import parse
from kvcount.models import named
from kvcount.report import as_json
from kvcount.sources import Found, of_published
from ui.parts import charts, files, prose
from ui.words.numbers import amount, count, share, size
from ui.words.text import parted, safe, t, translated

EXAMPLE = "GPU KV cache size: 715,072 tokens"
ANSWERS = (  # notes that stand before the terms
    "other_model", "no_room", "no_memory", "no_tokens", "groups_unknown", "two_numbers",
    "request_cost", "size_counted", "fp8_chosen", "fp8_plain", "fp8_either",
)  # fmt: skip
LARGE = 1000  # from how many bytes on they are written whole


def draw(text: str, given: Found | None, left: Found) -> None:
    """Draw what is between a log and the counted bytes of a token.

    Args:
        text: of the log.
        given: the model that the reader names, before the one that the log names.
        left: the model that it is set against where neither is known.

    Raises:
        RefusedError: a log of which nothing is understood.
    """
    log = parse(text)
    written = (log.model or "").rstrip("/")
    own = named(written) or named(written.rpartition("/")[2])
    found = given or (of_published(own) if own else left)
    told = explain_report.figures(found, log)
    prose.say(_line(told))
    if not (given or own):
        prose.note(t("kv_cache.log_left"))
    for note in told["notes"]:
        if note["note"] in ANSWERS:
            prose.say(_said("note", note, "note"))
    _table(told)


def _table(told: dict[str, Any]) -> None:
    """Draw the terms, what was assumed and what was not used, and the files of both."""
    rows = [(_said("term", line, "term"), line["bytes_per_token"]) for line in told["terms"]]
    if (logged := told["log_bytes_per_token"]) is not None:
        rows.append((_total(told), logged))
    columns = [t(f"kv_cache.log_column_{name}") for name in ("term", "bytes")]
    cells = [(words, _bytes(value)) for words, value in rows]
    st.table(pd.DataFrame(cells, columns=columns).set_index(columns[0]))
    for note in told["notes"]:
        if note["note"] not in ANSWERS:
            prose.note(_said("note", note, "note"))
    if told["unread"]:
        prose.say(t("kv_cache.log_unread", lines=parted(map(safe, told["unread"]))))
    with st.container(horizontal=True):
        charts.download(partial(_lines, rows), "mla_engine_log.csv")
        made, label = partial(_file, told), t("kv_cache.own_json")
        files.button(label, made, "mla_engine_log.json", "application/json", "kv_log:json")


def _line(told: dict[str, Any]) -> str:
    """Say how many bytes of a token the log has, and how much of them is explained."""
    values = {"model": safe(told["model"]), "counted": _bytes(told["counted_bytes_per_token"])}
    if (logged := told["log_bytes_per_token"]) is None:
        return t("kv_cache.log_counted", **values)
    left = _bytes(abs(told["unexplained_bytes_per_token"]))
    values |= {"logged": _bytes(logged), "share": share(told["explained"]), "left": left}
    explained = told["unexplained_bytes_per_token"] == 0
    return t("kv_cache.log_all" if explained else "kv_cache.log_part", **values)


def _said(section: str, line: dict[str, Any], key: str) -> str:
    """Return the words of a term or a note; what they quote of a log is a stranger's."""
    values = {
        name: safe(value[:120]) if isinstance(value, str) else value
        for name, value in line.items()
        if name != key
    }
    return translated(explain_report.table()[section][line[key]]).format(**values)


def _total(told: dict[str, Any]) -> str:
    """Return the label of the last row: size over tokens, as the log has them."""
    sizes = {"memory": size(told["memory_bytes"]), "tokens": count(told["tokens"])}
    return t("kv_cache.log_total", **sizes)


def _bytes(value: float) -> str:
    written = count(value) if abs(value) >= LARGE else amount(value)
    return written.replace("-", "−")


def _lines(rows: list[tuple[str, float]]) -> pd.DataFrame:
    """Return the lines with their numbers as they are."""
    return pd.DataFrame(rows, columns=["term", "bytes_per_token"])


def _file(told: dict[str, Any]) -> bytes:
    return as_json(told).encode()
