"""The report on an engine's log: one object of figures, and it as lines of text and as JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from kvcount.counting import number
from kvcount.drawn import drawn
from kvcount.dtypes import OF_FP8, TYPES, Storage, storage, written
from kvcount.logs.blocks import FULL, WINDOW, of_kind
from kvcount.logs.engine_log import GIB, LLAMA, SGLANG, VLLM, Logged, Memory
from kvcount.logs.reconcile import Reconciled, Request
from kvcount.logs.terms import Term
from kvcount.models import named
from kvcount.parts import Layer
from kvcount.reading.keys import UncountedError
from kvcount.refusals import ORIGINAL
from kvcount.sources import Found
from kvcount.tables import read_table

COUNTED = ("latents", "index", "pairs", "entries")  # the terms that the counted bytes consist of
NAMES = {VLLM: "vLLM", SGLANG: "SGLang", LLAMA: "llama.cpp", None: "the engine"}


@cache
def table() -> dict[str, dict[str, dict[str, str]]]:
    """Return the words of terms and notes: "term" or "note" -> key -> language -> text."""
    return read_table("kvcount", "data", "terms.toml")


def _said(section: str, key: str, values: Mapping[str, object]) -> str:
    """Say a term or a note in English."""
    return table()[section][key][ORIGINAL].format(**values)


def figures(found: Found, log: Logged, kv: str | None = None) -> dict[str, Any]:
    """Return every figure by name, numbers as numbers; bytes of a token, on one GPU.

    Args:
        found: the model.
        log: what an engine said of it.
        kv: the type of its cache, before what the log says; without either as it is published.

    Raises:
        UncountedError: a log of which nothing is understood.
        RefusedError: a type that no cache has, more pipeline stages than layers.
    """
    if not log.said:
        raise UncountedError("no_log")
    logged = log.kv if log.kv and ("=" in log.kv or log.kv in TYPES) else None
    chosen = kv or logged or "published"
    types = storage(chosen, found.storage)
    reconciled, layout = _in_fp8(Reconciled(model=found.model, storage=types, log=log))
    rest = reconciled.rest
    lines = [*reconciled.counted, *reconciled.terms, *([rest] if rest else [])]
    left = rest.n_bytes if rest and rest.key == "unexplained" else Fraction(0)
    shown = written(chosen, found.storage)
    taken = None if kv or logged else "published" if types.of_part else types.usual
    return {
        "model": found.name,
        "engine": log.engine,
        "kv": shown,
        "log": {key: _plain(value) for key, value in log.said.items()},
        "memory_bytes": _of(reconciled.memory and reconciled.memory.n_bytes),
        "tokens": reconciled.tokens,
        "counted_bytes_per_token": number(reconciled.counted_bytes),
        "log_bytes_per_token": _of(reconciled.implied),
        "terms": [_line(term) for term in lines],
        "explained": reconciled.share,
        "unexplained_bytes_per_token": None if rest is None else number(left),
        "request": _request(reconciled.request),
        "notes": [
            {"note": key, **values}
            for key, values in (*layout, *_notes(found.name, reconciled, taken))
        ],
        "unread": list(log.unread),
    }


PLAIN = Storage("fp8", {"latent": "fp8", "rope": "fp8"})  # index keys have a scale in both layouts


def _in_fp8(first: Reconciled) -> tuple[Reconciled, list[tuple[str, dict[str, object]]]]:
    """Return the reconciliation in the layout of FP8 with which the log comes out, and a note.

    Kernels that read chosen rows have a layout of their own; engines can store plain FP8 instead,
    and their logs say "fp8" of both.
    """
    kept = next((one for one in first.model.groups if (one.kind, "latent") in OF_FP8), None)
    if kept is None or first.log.chosen_rows or first.storage != Storage("fp8"):
        return first, []
    other = replace(first, storage=PLAIN)
    sizes = {"chosen": number(_row(kept, first.storage)), "plain": number(_row(kept, PLAIN))}
    fits = [one.rest is not None and one.rest.key == "rounding" for one in (first, other)]
    if fits == [False, True]:
        return other, [("fp8_plain", sizes)]
    return first, [("fp8_chosen" if fits == [True, False] else "fp8_either", sizes)]


def _row(layer: Layer, storage: Storage) -> Fraction:
    """Return the bytes of a token's latent and rotary key."""
    parts = (part for part in layer.parts if part.name in PLAIN.of_part)
    return sum((storage.row_bytes(layer.kind, part) for part in parts), Fraction(0))


def _request(request: Request | None) -> dict[str, Any] | None:
    """Return what a request takes, by name; tokens and counts as they are."""
    if request is None:
        return None
    return {
        "fixed_bytes": number(request.fixed),
        "bytes_per_token": number(request.each),
        "pool_bytes": number(request.pool),
        "longest_text": request.longest,
        "requests": request.requests,
        "tokens_each": request.short,
    }


def _line(term: Term) -> dict[str, Any]:
    values = {key: _plain(value) for key, value in term.values.items()}
    return {"term": term.key, "bytes_per_token": number(term.n_bytes), **values}


def _plain(value: object) -> object:
    if isinstance(value, Memory):
        return number(value.n_bytes)
    return number(round(value, 1)) if isinstance(value, Fraction) else value


def _of(value: Fraction | None) -> int | float | None:
    return None if value is None else number(value)


def _notes(
    name: str, reconciled: Reconciled, taken: str | None
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield what a reader has to know beside the lines; `taken` is a type that no log named."""
    log = reconciled.log
    if reconciled.memory is None:
        yield _unsized(reconciled)
    elif reconciled.memory.n_bytes <= 0:
        yield "no_room", {}
    if reconciled.tokens is None:
        yield "no_tokens", {}
    if taken == "published":
        yield "kv_published", {}
    elif taken:
        yield "kv_taken", {"kv": taken}
    if log.tensor is None and log.engine != LLAMA:
        yield "tensor_taken", {}
    if log.memory is None and reconciled.both is not None:
        yield "two_numbers", _both(reconciled)
    if reconciled.request is not None:
        yield "request_cost", _cost(reconciled.request)
    if reconciled.batched is not None:
        yield "step_taken", {"step": reconciled.batched}
    if other := _other(name, log):
        yield "other_model", {"given": other}
    own_pools = log.engine in (SGLANG, LLAMA)
    kinds = {of_kind(layer) for layer in reconciled.model.groups} - {""}
    if own_pools and WINDOW in kinds and log.window_tokens is None:
        yield "windows_taken", {}
    if None in kinds if own_pools else reconciled.pool is None and kinds != {FULL}:
        yield "groups_unknown", {}
    elif log.ranks > 1 and log.engine not in (SGLANG, LLAMA) and _more(reconciled):
        yield "least_rank", {}


def _unsized(reconciled: Reconciled) -> tuple[str, dict[str, object]]:
    """Say that the log has no size; what its tokens take, where every layer keeps all of them."""
    tokens = reconciled.tokens
    whole = all(of_kind(layer) in (FULL, "") for layer in reconciled.model.groups)
    if not tokens or not whole:
        return "no_memory", {}
    each = reconciled.counted_bytes + sum(term.n_bytes for term in reconciled.terms)
    return "size_counted", {"tokens": tokens, "gib": round(float(each * tokens / GIB), 2)}


def _cost(request: Request) -> dict[str, object]:
    return {
        "fixed": round(float(request.fixed / GIB), 2),
        "each": number(round(request.each)),
        "pool": round(float(request.pool / GIB), 2),
        "longest": request.longest,
        "requests": request.requests,
        "short": request.short,
    }


def _both(reconciled: Reconciled) -> dict[str, object]:
    """Return what both numbers of a log say of one pool, and how many tokens fit."""
    log = reconciled.log
    return {
        "blocks": reconciled.both,
        "gib": round(reconciled.both * float(reconciled.pool.block_bytes) / GIB, 2),
        "tokens": log.tokens,
        "groups": sum(reconciled.pool.groups.values()),
        "concurrency": log.concurrency,
        "length": log.length,
        "fit": round(log.concurrency * log.length),
    }


def _more(reconciled: Reconciled) -> bool:
    rest = reconciled.rest
    return rest is not None and rest.key == "unexplained" and rest.n_bytes > 0


def _other(name: str, log: Logged) -> str | None:
    """Return the model that a log is of, where it is a stored one and another than the asked."""
    if log.model is None:
        return None
    last = log.model.rstrip("/").rpartition("/")[2]
    found = named(log.model) or named(last)
    return log.model if found and found.name != name else None


def as_text(found: Mapping[str, Any]) -> str:
    """Return the figures as lines to be read."""
    return "\n".join((*_head(found), *_lines(found), *map(drawn, _beside(found))))


def _head(found: Mapping[str, Any]) -> Iterator[str]:
    kept = "as published" if found["kv"] == "published" else f"in {found['kv']}"
    engine = NAMES[found["engine"]]
    yield f"{found['model']}, cache {kept}: bytes per token on one GPU of {engine}"


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for line in found["terms"]:
        sign = "" if line["term"] in COUNTED else "+"
        words = _said("term", line["term"], line)
        yield f"{_count(line['bytes_per_token'], sign):>13}  {words}"
    if found["log_bytes_per_token"] is None:
        return
    size = f"{found['memory_bytes'] / GIB:.2f} GiB / {found['tokens']:,} tokens"
    yield f"{_count(found['log_bytes_per_token']):>13}  in the log: {size}"
    yield f"explained: {100 * found['explained']:.4g} %"


def _beside(found: Mapping[str, Any]) -> Iterator[str]:
    for note in found["notes"]:
        yield _said("note", note["note"], note)
    yield f"understood: {', '.join(_taken(*one) for one in found['log'].items())}"
    for line in found["unread"]:
        yield f"not used: {line}"


def _taken(key: str, value: object) -> str:
    """Write a value of the log: its name, and a size in GiB."""
    if key in ("memory", "needed"):
        return f"{key} {value / GIB:.2f} GiB"
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{key} {value:,}" if whole else f"{key} {value}"


def _count(value: float, sign: str = "") -> str:
    return f"{value:{sign},}" if isinstance(value, int) else f"{value:{sign},.1f}"
