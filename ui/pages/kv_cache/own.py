"""The cache page's box for what the reader brings: a model's name, a config.json, a log."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from kvcount import MODELS, storage
from kvcount.logs.engine_log import MOST_LETTERS as MOST_OF_LOG
from kvcount.report import BEFORE_WEIGHTS, LONGEST, Asked, as_json, figures
from kvcount.sources import Found, of_published
from ui.pages.kv_cache import engine_log
from ui.pages.kv_cache.common import shown
from ui.pages.kv_cache.scene import type_label
from ui.pages.kv_cache.view import View
from ui.parts import files, given, prose
from ui.parts.control import control
from ui.settings import state
from ui.settings.server import server
from ui.sources import model
from ui.words.numbers import count, digits
from ui.words.text import safe, t

PASTED = "kv_config"
MOST_LETTERS = 2 * MOST_OF_LOG  # past the limit of a log, so that it can be refused
NONE = "–"
SHARED = "pipeline", "dcp", "mtp"
WAYS = "tensor", "context", "data"
BOUNDED = {"bounded": "window_bytes", "states": "state_bytes", "read": "read_bytes_per_step"}


def section(view: View) -> None:
    """Ask for a model or a log, and answer below the box for their text."""
    if server().recorded:
        return
    there = bool(view.own) or given.is_given(PASTED)
    with st.expander(t("kv_cache.own_title"), expanded=there):
        said = {"help": t("kv_cache.own_box_help"), "placeholder": engine_log.EXAMPLE}
        given.paste(PASTED, t("kv_cache.own_box"), MOST_LETTERS, **said)
        answer = st.container()
        given.ask("kv_own", PASTED, text=False)
        with answer, prose.refusals():
            _answer(view)


def _answer(view: View) -> None:
    """Draw what the model keeps, with the page's lengths, types and GPUs, or explain the log."""
    if log := given.given_log(PASTED):
        found = None
        with prose.refusals():  # of the model; the log may name another
            found = given.counted(view.own, PASTED, logs=True)
        engine_log.draw(log, found, _left(view))
    elif found := given.counted(view.own, PASTED):
        said = st.container()
        _controls()  # a refusal is mended with them
        with said:
            _draw(view, found)
        given.buttons(view.own, given.given_config(PASTED), _takers())


def _left(view: View) -> Found:
    return of_published(MODELS[view.scenes[0].key])


def _controls() -> None:
    """Ask how its layers and tokens are dealt out, and if MTP layers keep a cache."""
    for column, name in zip(st.columns(3, vertical_alignment="bottom"), SHARED, strict=True):
        with column:
            control(f"kv_{name}", help=t(f"dealing.{name}_help"))


def _takers() -> dict[str, given.Take]:
    """Return the ways to show it: on each side, and on every page; by their labels."""
    sides = {t(f"kv_cache.own_{name}"): partial(_show, f"kv_{name}") for name in ("left", "right")}
    return sides | {t("given.everywhere"): model.take}


def _show(side: str, key: str) -> None:
    state.change(**{side: key})


def _asked(view: View, found: Found) -> Asked:
    """Return what the page's settings ask of it."""
    scene = view.scenes[0]
    return Asked(
        storage=storage(scene.dtype),
        kv=scene.dtype,
        context=view.context,
        batch=scene.batch,
        gpus=view.ranks,
        pipeline=view.pipeline,
        context_ranks=view.dcp,
        mtp=view.mtp,
        gpu=view.gpu,
        parameters=found.parameters,
        routed=found.routed,
        rounded=found.rounded,
        weights=view.weights,
    )


def _draw(view: View, found: Found) -> None:
    told = figures(found.name, found.model, _asked(view, found))
    prose.say(_line(view, told))
    st.table(_kinds(view, told))
    prose.say(_weights(view, told))
    if view.pipeline > 1:
        prose.say(t("kv_cache.own_stages", n=count(view.pipeline)))
    st.table(_gpus(view, told))
    label, made = t("kv_cache.own_json"), partial(_file, told)
    files.button(label, made, "model_cache.json", "application/json", "kv_own:json")


def _file(told: dict[str, Any]) -> bytes:
    return as_json(told).encode()


def _line(view: View, told: dict[str, Any]) -> str:
    """Say what is stored and what is read."""
    return t(
        "kv_cache.own_line",
        model=safe(told["model"]),
        token=_bytes(told["stored_bytes_per_token"]),
        numbers=_number(told["stored_numbers_per_token"]),
        type=type_label(told["kv"]),
        held=shown(view, told["stored_bytes"]),
        batch=count(told["batch"]),
        tokens=count(told["context"]),
        read=shown(view, told["read_bytes_per_step"]),
    )


def _kinds(view: View, told: dict[str, Any]) -> pd.DataFrame:
    """A row a kind of layer, as text; windows and states only where some layer has them."""
    columns = {
        "kind": [_kind(one["kind"]) for one in told["kinds"]],
        "layers": [count(one["layers"]) for one in told["kinds"]],
        "token": [_bytes(one["stored_bytes_per_token"]) for one in told["kinds"]],
    } | {
        name: [_shown(view, one[key]) for one in told["kinds"]]
        for name, key in BOUNDED.items()
        if any(one[key] for one in told["kinds"])
    }
    found = pd.DataFrame({t(f"kv_cache.own_column_{name}"): of for name, of in columns.items()})
    return found.set_index(found.columns[0])


def _kind(kind: str) -> str:
    """Name what layers of a kind keep; some have two mixers."""
    return " + ".join(t(f"kv_cache.layer_{part}") for part in kind.split("+"))


def _shown(view: View, n_bytes: float) -> str:
    return shown(view, n_bytes) if n_bytes else NONE


def _gpus(view: View, told: dict[str, Any]) -> pd.DataFrame:
    """A row a way of sharing the cache, as text."""
    ways = {way: one for way in WAYS if (one := told["gpus"].get(way))}
    known = _known(told)
    longest = LONGEST if known else BEFORE_WEIGHTS
    rows = {
        t(f"kv_cache.own_{way}"): (
            _bytes(one["stored_bytes_per_token_each"]),
            shown(view, one["stored_bytes_each"]),
            *([shown(view, one["weight_bytes_each"])] if known else []),
            _longest(one[longest]),
        )
        for way, one in ways.items()
    }
    last = ("weights", "longest") if known else ("before_weights",)
    names = ("each_token", "each", *last)
    columns = [t(f"kv_cache.own_column_{name}") for name in names]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _known(told: dict[str, Any]) -> bool:
    """Tell if its weights are counted."""
    return told["gpus"]["tensor"]["weight_bytes_each"] is not None


def _weights(view: View, told: dict[str, Any]) -> str:
    """On which GPUs, and in which type its weights are."""
    on = told["gpus"]
    said = {"gpus": count(on["count"]), "gpu": on["gpu"]}
    if not _known(told):
        return t("kv_cache.own_no_weights", **said)
    key = "own_weights_rounded" if on["parameters_rounded"] else "own_weights"
    return t(f"kv_cache.{key}", type=type_label(view.weights), **said)


def _longest(tokens: int | None) -> str:
    return t("kv_cache.own_unbounded") if tokens is None else count(tokens)


def _bytes(n_bytes: float) -> str:
    """Bytes in full where they are whole, as calculators give them."""
    return f"{_number(n_bytes)} B" if n_bytes else NONE


def _number(value: float) -> str:
    return count(value) if isinstance(value, int) else digits(value)
