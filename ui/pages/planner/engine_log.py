"""Why an engine logs another number of tokens: its log pasted, and reconciled term by term."""

from functools import partial
from typing import Any

import streamlit as st

from kvcount import explain_report
from kvcount.lazy import LazyModule
from kvcount.logs.engine_log import parse
from kvcount.report import as_json
from kvcount.sources import Found
from ui.parts import charts, files, prose
from ui.settings.server import server
from ui.words.numbers import amount, count, share, size
from ui.words.text import parted, safe, t, translated

pd = LazyModule("pandas")

PASTED = "plan_log"  # the key in the session of a pasted log; a link has no room for it
LINES = "Available KV cache memory: 46.80 GiB\nGPU KV cache size: 715,072 tokens"  # an example
MOST_LETTERS = 200_000  # as of a config.json that is pasted
HEIGHT, LARGE = 120, 1000  # pixels of the box; from how many bytes on they are written whole


def draw(found: Found) -> None:
    """Ask for a log, and draw what is between it and the counted bytes of a token.

    Args:
        found: the model that the page counts.
    """
    if server().recorded:
        return
    with st.expander(t("planner.log_title")):
        box = {"key": PASTED, "placeholder": LINES, "help": t("planner.log_help")}
        most = {"max_chars": MOST_LETTERS, "height": HEIGHT}
        text = st.text_area(t("planner.log_box"), **box, **most).strip()
        if not text:
            prose.note(t("planner.log_note"))
            return
        try:
            told = explain_report.figures(found, parse(text))
        except ValueError as refusal:
            prose.refused(refusal)
            return
        _draw(told)


def _draw(told: dict[str, Any]) -> None:
    prose.say(_line(told))
    rows = [(_said("term", line, "term"), line["bytes_per_token"]) for line in told["terms"]]
    if (logged := told["log_bytes_per_token"]) is not None:
        rows.append((_total(told), logged))
    columns = [t(f"planner.column_{name}") for name in ("term", "token_bytes")]
    cells = [(words, _bytes(value)) for words, value in rows]
    st.table(pd.DataFrame(cells, columns=columns).set_index(columns[0]))
    for note in told["notes"]:
        prose.say(_said("note", note, "note"))
    if told["unread"]:
        prose.say(t("planner.log_unread", lines=parted(map(safe, told["unread"]))))
    with st.container(horizontal=True):
        charts.download(partial(_table, rows), "mla_engine_log.csv")
        made = partial(_file, told)
        label = t("planner.log_json")
        files.button(label, made, "mla_engine_log.json", "application/json", "plan_log:json")


def _line(told: dict[str, Any]) -> str:
    """Say how many bytes of a token the log has, and how much of them is explained."""
    values = {"model": safe(told["model"]), "counted": _bytes(told["counted_bytes_per_token"])}
    if (logged := told["log_bytes_per_token"]) is None:
        return t("planner.log_counted", **values)
    left = _bytes(abs(told["unexplained_bytes_per_token"]))
    values |= {"logged": _bytes(logged), "share": share(told["explained"]), "left": left}
    explained = told["unexplained_bytes_per_token"] == 0
    return t("planner.log_all" if explained else "planner.log_part", **values)


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
    return t("planner.log_total", **sizes)


def _bytes(value: float) -> str:
    written = count(value) if abs(value) >= LARGE else amount(value)
    return written.replace("-", "−")


def _table(rows: list[tuple[str, float]]) -> "pd.DataFrame":
    """Return the lines with their numbers as they are."""
    return pd.DataFrame(rows, columns=["term", "bytes_per_token"])


def _file(told: dict[str, Any]) -> bytes:
    return as_json(told).encode()
