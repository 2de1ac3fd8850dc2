"""The kinds of rows of caches to which tokens do not add the same."""

import pandas as pd

from tests.ui.pages.kv_cache.side import BYTES, Config, Side, code_of
from tests.ui.screen import Chart, says
from ui.words.numbers import count, prefixed_count, times

KINDS = {  # code -> English name, in the order of the bars
    "key": "keys", "rope": "rotary keys", "latent": "latent", "value": "values",
    "entries": "entries", "index": "index keys", "window": "window", "waiting": "waiting",
    "state": "state", "tails": "convolutions",
}  # fmt: skip
COLOURS = {  # as Okabe and Ito have them for latents, keys and values
    **dict.fromkeys(("keys", "index keys"), "#D55E00"),
    **dict.fromkeys(("values", "convolutions"), "#009E73"),
    **dict.fromkeys(("latent", "entries", "window", "waiting", "state"), "#CC79A7"),
    "rotary keys": "#E69F00",
}
Rows = dict[str, tuple[int, float]]


def caches(one: Side) -> dict[str, Rows]:
    """Label -> kind of row -> numbers and bytes of a layer; MHA where there are no layouts."""
    ways = list(one.ways.items())
    if not one.is_uneven:
        return {name: one.rows(config) for name, config in ways[3:] if not grouped(config)}
    each = one.config.n_heads * one.context
    full = {"keys": each * one.config.d_head, "values": each * one.config.d_value}
    mha = {kind: (n, n * BYTES[one.type]) for kind, n in full.items()}
    mla = ways[3][0]
    return {"MHA": mha, mla: one.rows(one.mla), one.own: one.rows(one.config)}


def grouped(config: Config) -> bool:
    return config.in_full and not config.has_latent


def total(rows: Rows) -> int:
    return sum(numbers for numbers, _ in rows.values())


def told(rows: Rows) -> str:
    in_order = [kind for kind in KINDS.values() if kind in rows]
    return "; ".join(f"{kind}: {count(rows[kind][0])}" for kind in in_order)


def drawn(chart: Chart, one: Side, labels: list[str]) -> str:
    """A chart of these caches: every bar, number, hover and total; its alternative text."""
    found = {label: caches(one)[label] for label in labels}
    kinds = [kind for kind in KINDS.values() if any(kind in rows for rows in found.values())]
    *bars, totals = chart.traces
    axis = f"numbers a layer,<br>{count(one.context)} tokens"
    assert [bar["name"] for bar in bars] == kinds
    for bar, kind in zip(bars, kinds, strict=True):
        numbers = [rows.get(kind, (0, 0))[0] for rows in found.values()]
        assert list(chart.values(bar, "x")) == numbers
        hover = f"%{{customdata}}<br>{kind}<br>%{{x:,.4g}} {axis}<extra></extra>"
        assert bar["hovertemplate"] == hover
        assert bar["customdata"] == labels
    assert {bar["name"]: bar["marker"]["color"] for bar in bars}.items() <= COLOURS.items()
    signs = [(bar["marker"]["color"], bar["marker"]["pattern"]["shape"]) for bar in bars]
    assert len(set(signs)) == len(signs), "each kind looks unlike every other"
    sums = [total(rows) for rows in found.values()]
    assert (totals["text"], totals["x"]) == ([f" {prefixed_count(n)}" for n in sums], sums)
    assert chart.axis("x") == axis
    assert chart.layout["yaxis"]["ticktext"] == labels
    assert chart.layout["barmode"] == "stack"
    held = "; ".join(f"{label} ({told(rows)})" for label, rows in found.items())
    assert says(
        chart.alt, "kv_cache.alt_rows", model=one.name, tokens=count(one.context), held=held
    )
    return chart.alt


def held(one: Side, rows: Rows) -> float:
    return sum(n_bytes for _, n_bytes in rows.values()) * one.caches * one.batch


def table(one: Side) -> pd.DataFrame:
    found = caches(one)
    mla = held(one, next(rows for label, rows in found.items() if label.startswith("MLA")))
    rows = {
        label: (prefixed_count(total(of)), one.size(held(one, of)), times(mla / held(one, of)))
        for label, of in found.items()
    }
    columns = ["Numbers a layer", f"{count(one.context)} tokens", "MLA / this"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def said(one: Side) -> list[str]:
    found = caches(one)
    kinds = {kind for rows in found.values() for kind in rows}
    sentences = {
        "entries": "**Entries** stand for several tokens each: key and value in one vector that "
        "all heads share. Only the last tokens, the **window**, are kept one by one.",
        "waiting": "**Waiting** is what the next entry will be made of: until its block is full, "
        "each token keeps its contents and the scores of a gate.",
        "state": "A **state** is one matrix per head, into which every token is written. Beside "
        "it, short **convolutions** keep the last few tokens.",
    }
    wide = "state" in kinds and BYTES[one.type] < 4
    return [
        "\n".join(f"- **{label}**: {told(rows)}" for label, rows in found.items()),
        *[sentence for kind, sentence in sentences.items() if kind in kinds],
        *["The state is kept in float32, 4 bytes a number, whatever the type of the rest."] * wide,
        *filter(None, [beside(one)]),
    ]


def beside(one: Side) -> str:
    """Return where the MLA beside them is from, if they have none."""
    if one.is_mla or not one.is_uneven:
        return ""
    return (
        "These layers have no MLA: the one beside them is assumed, with $d_c$ = "
        f"{count(one.mla.d_latent_kv)} and $d_R$ = {one.mla.d_rope}."
    )


def title(one: Side) -> str:
    own, mla = (one.rows(config) for config in (one.config, one.mla))
    return (
        f"{one.name} keeps so many in a layer for {count(one.context)} tokens ({told(own)}); MLA "
        f"of as many heads would keep {count(total(mla))}, {times(total(mla) / total(own))} as much"
    )


def data(one: Side) -> list[dict]:
    """Return all that is drawn beside layouts, with the codes of ways."""
    names = {name: code for code, name in KINDS.items()}
    found = {}
    for label, config in list(one.ways.items())[3:]:
        own_layouts = label == one.own and one.is_mla
        if not grouped(config) and not own_layouts and not label.startswith("MLA, "):
            found[label] = one.rows(config)
    return [
        {
            "model": one.name,
            "cache": code_of(label),
            "is_the_models_own": label == one.own,
            **dict.fromkeys((f"{code}_numbers" for code in KINDS), 0),
            **{f"{names[kind]}_numbers": n for kind, (n, _) in rows.items()},
            "numbers_of_a_layer": total(rows),
            "context_tokens": one.context,
            "bytes": held(one, rows),
        }
        for label, rows in found.items()
    ]
