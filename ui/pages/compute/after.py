"""The work of what came after MLA over the context, set against MLA, and its products."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import costs, figures, mechanisms
from mla_engine.costs import Cost
from mla_engine.figures import symbol_html
from ui.pages.compute.view import FLOPS, View, or_never, plain
from ui.parts import prose
from ui.parts.charts import show
from ui.parts.measure import device_name
from ui.parts.questions import Question, decades, tokens
from ui.parts.ways import INDEXED, MOST, label, listed, of_model
from ui.words import text as texts
from ui.words.numbers import count, flop, tied_size
from ui.words.text import named, parted, sentences, t, variant_name

CONTEXTS = tuple(2**n for n in range(8, 18))
LONGEST = 10**6  # tokens at the end of the question's scale
OF_THE_WHY = "index_topk", "pooling"  # sizes that explain its answer


def lead(view: View) -> tuple[str, str]:
    """Return what the chosen way and MLA take at this context, and from when on it is less."""
    read = {code: view.layers * view.cost(code).cache_read_bytes for code in view.ways}
    values = _chosen_and_all(view, view.shown)
    line = t(
        f"compute.line_after_{view.chosen.phase}",
        model=of_model(view.model),
        name=variant_name(view.shown),
        dense=label(view.ways, view.dense),
        read=tied_size(read[view.shown]),
        read_all=tied_size(read[view.dense]),
        turn=_since(view, view.shown),
        **values,
    )
    return values["chosen"], line


def lead_indexed(view: View) -> tuple[str, str]:
    """Return from how many tokens on choosing keys pays, and a sentence about it."""
    turn = choosing_wins(view)
    values = _chosen_and_all(view, INDEXED) | {"model": of_model(view.model)}
    if turn is None:
        return t("compute.never"), t(f"compute.line_indexed_never_{view.chosen.phase}", **values)
    number = t("compute.from_tokens", tokens=count(turn))
    return number, t(f"compute.line_indexed_{view.chosen.phase}", **values, turn=count(turn))


def _chosen_and_all(view: View, chosen: str) -> dict[str, str]:
    """Return FLOP of all layers at the present context, in a way and reading all keys."""
    codes = {"chosen": chosen, "every": view.dense}
    flops = {name: flop(view.layers * view.cost(n).total_flops) for name, n in codes.items()}
    return flops | {"tokens": count(view.chosen.context)}


def question(view: View) -> Question | None:
    """Ask from how many tokens on it takes fewer FLOP than MLA; None if always or never."""
    code, config = view.shown, view.ways[view.shown].config
    turn = choosing_wins(view) if code == INDEXED else view.lighter_from(code)
    if turn in (None, 1):
        return None
    sizes = {name: count(n) for name in OF_THE_WHY if (n := config.size(name))}
    dense = label(view.ways, view.dense)
    return decades(
        f"compute_{view.chosen.phase}_{code}",
        t(f"compute.guess_later_{view.chosen.phase}", name=variant_name(code), dense=dense),
        turn,
        (1, LONGEST),
        say=lambda n: tokens(count(n)),
        why=t(f"compute.guess_{mechanisms.of_variant(code).key}_why", **sizes),
        hides=("lead", "place_over", *["place_choosing"] * (code == INDEXED)),
    )


def choosing_wins(view: View, work: Callable[[Cost], float] = FLOPS) -> int | None:
    """Return from how many tokens on choosing keys takes less work than reading all."""

    def wins(tokens: int) -> bool:
        chosen, every = (view.cost(code, tokens=tokens) for code in (INDEXED, view.dense))
        return work(chosen) < work(every)

    return costs.first_whole(wins, MOST)


def choosing(view: View) -> None:
    """Draw FLOP over the context, with all keys and with chosen ones, and their crossing."""
    wins = choosing_wins(view)
    said = _choosing(view, wins)
    st.subheader(t("compute.choosing_title"), anchor=False)
    prose.say(said)
    every, chosen = (_over(view, code, FLOPS) for code in (view.dense, INDEXED))
    figure = partial(
        figures.crossing,
        CONTEXTS,
        {label(view.ways, view.dense): every, label(view.ways, INDEXED): chosen},
        titles=(t("compute.axis_context"), t("compute.axis_flop")),
        cross=wins and (wins, view.cost(INDEXED, tokens=wins).total_flops),
        label=count(wins) if wins else "",
        here=view.chosen.context,
        roles=(view.dense, INDEXED),
    )
    lines = {"tokens": CONTEXTS, "all_keys_flop": every, "chosen_keys_flop": chosen}
    table = partial(pd.DataFrame, lines)
    about = {"alt": plain(said), "data": table, "file": "compute_choosing.csv"}
    show(figure, "choosing", follows="cost_context", **about)


def _choosing(view: View, wins: int | None) -> str:
    """Return what the indexer costs and saves, when it pays, and whether it is assumed."""
    of_mla = view.cost("mla_absorbed").step_flops
    steps = view.cost(INDEXED).step_flops
    indexer = sum(flops for name, flops in steps.items() if name not in of_mla)
    said = [
        t(
            "compute.choosing",
            index=flop(view.layers * indexer),
            topk=count(view.ways[INDEXED].config.index_topk),
            dense=label(view.ways, view.dense),
            gpu=device_name(view.device),
            turn=or_never(wins),
            clocked=or_never(choosing_wins(view, view.device.seconds)),
            **_chosen_and_all(view, INDEXED),
        )
    ]
    if not view.model.base.chooses_keys:
        said.append(t("compute.choosing_assumed"))
    return sentences(said)


def over_contexts(view: View) -> None:
    """Draw FLOP, and bytes of caches, of MLA and of what came after it over the context."""
    prose.say(_says_over(view))
    for key, work in (("flop", FLOPS), ("cache", _cache_bytes)):
        amounts = {code: _over(view, code, work) for code in (view.dense, *view.later)}
        ringed = key == "flop" and view.shown in view.later
        cross = view.lighter_from(view.shown) if ringed else None
        figure = partial(
            figures.crossing,
            CONTEXTS,
            {label(view.ways, code): line for code, line in amounts.items()},
            titles=(t("compute.axis_context"), t(f"compute.axis_of_{key}")),
            cross=cross and (cross, FLOPS(view.cost(view.shown, tokens=cross))),
            label=count(cross) if cross else "",
            here=view.chosen.context,
            roles=tuple(amounts),
        )
        written = flop if key == "flop" else tied_size
        first, last = (
            listed(view.ways, {code: written(line[at]) for code, line in amounts.items()})
            for at in (0, -1)
        )
        ends = {"first": count(CONTEXTS[0]), "last": count(CONTEXTS[-1])}
        show(
            figure,
            f"over_{key}",
            alt=t(f"compute.alt_over_{key}", at_first=first, at_last=last, **ends),
            data=partial(pd.DataFrame, {"tokens": CONTEXTS, **amounts}),
            file=f"compute_over_{key}.csv",
            follows="cost_context",
        )


def _over(view: View, code: str, work: Callable[[Cost], float]) -> np.ndarray:
    """Return what one layer takes in a way over CONTEXTS tokens."""
    return np.array([work(view.cost(code, tokens=n)) for n in CONTEXTS])


def _cache_bytes(cost: Cost) -> float:
    return cost.cache_read_bytes + cost.cache_written_bytes


def _says_over(view: View) -> str:
    """Return from when on each way after MLA takes fewer FLOP, and whose cache does not grow."""
    since = {code: _since(view, code) for code in view.later}
    dense = label(view.ways, view.dense)
    said = [t("compute.over", dense=dense, since=listed(view.ways, since))]
    for code in view.later:
        config, cache = view.ways[code].config, view.ways[code].cache
        if not costs.cache_bytes_per_token(config, view.device.dtype_bytes, cache):
            said.append(t("compute.over_fixed", name=label(view.ways, code)))
    return sentences(said)


def _since(view: View, code: str) -> str:
    turn = view.lighter_from(code)
    if turn is None:
        return t("compute.since_never")
    return t("compute.since", tokens=count(turn)) if turn > 1 else t("compute.since_first")


def products(view: View) -> None:
    """Draw the FLOP of each product of the chosen way, in the order of computation."""
    cost, name = view.cost(view.shown), label(view.ways, view.shown)
    flops = {product: view.layers * n for product, n in cost.step_flops.items()}
    written = {product: flop(n) for product, n in flops.items()}
    prose.say(_says_products(view, cost, name))
    figure = partial(
        figures.bars,
        [symbol_html(product) for product in flops],
        {t("compute.column_flop"): list(flops.values())},
        axis=t("compute.column_flop"),
        totals=list(written.values()),
        height=96 + 30 * len(flops),
    )
    parts = parted(named(product, n) for product, n in written.items())
    table = {"makes": list(flops), "flop": list(flops.values()), "way": view.shown}
    show(
        figure,
        "products",
        alt=t("compute.alt_products", name=name, parts=parts),
        data=partial(pd.DataFrame, table),
        file="compute_products.csv",
    )


def _says_products(view: View, cost: Cost, name: str) -> str:
    """Return which way's products are drawn, and which of them grow with the context."""
    growing = [symbol_html(product) for product in cost.growing if cost.step_flops.get(product)]
    values = {"name": name, "flop": flop(view.layers * cost.total_flops)}
    if not growing:
        return t("compute.products_even", **values)
    share = flop(view.layers * cost.attention_flops)
    return t("compute.products", **values, growing=texts.listed(growing), share=share)
