"""The words of what came after MLA: its lead, its work over the context, and its question."""

from collections.abc import Callable

from mla_engine import mechanisms
from mla_engine.costs import Cost
from mla_engine.figures import symbol_html
from ui.pages.compute.view import CONTEXTS, View
from ui.parts.questions import Question, decades, tokens
from ui.parts.ways import INDEXED, label, listed, of_model
from ui.words.numbers import count, flop, tied_size
from ui.words.text import sentences, t, variant_name

LONGEST = 10**6  # tokens at the end of the question's scale
OF_THE_WHY = "index_topk", "pooling"  # sizes that explain its answer


def lead(view: View) -> tuple[str, str]:
    """What the chosen way takes at this context, and MLA; from when on it takes fewer FLOP."""
    codes = {"chosen": view.shown, "every": view.dense}
    flops = {name: flop(view.layers * view.cost(n).total_flops) for name, n in codes.items()}
    read = {name: view.layers * view.cost(n).cache_read_bytes for name, n in codes.items()}
    line = t(
        f"compute.line_after_{view.phase}",
        model=of_model(view.model),
        name=variant_name(view.shown),
        dense=label(view.ways, view.dense),
        tokens=count(view.context),
        read=tied_size(read["chosen"]),
        read_all=tied_size(read["every"]),
        turn=_since(view, view.shown),
        **flops,
    )
    return flops["chosen"], line


def _since(view: View, code: str) -> str:
    turn = view.lighter_from(code)
    if turn is None:
        return t("compute.since_never")
    return t("compute.since", tokens=count(turn)) if turn > 1 else t("compute.since_first")


def over(view: View) -> str:
    """From when on each way after MLA takes fewer FLOP than MLA, and what is fixed of its cache."""
    since = {code: _since(view, code) for code in view.later}
    dense = label(view.ways, view.dense)
    said = [t("compute.over", dense=dense, since=listed(view.ways, since))]
    still = [code for code in view.later if not view.entry_bytes(code)]
    said += [t("compute.over_fixed", name=label(view.ways, code)) for code in still]
    return sentences(said)


def over_alt(view: View, key: str, work: Callable[[Cost], float]) -> str:
    """The ends of the lines in words."""
    written = flop if key == "flop" else tied_size
    lines = view.over_contexts(work).items()
    first, last = ({code: written(line[at]) for code, line in lines} for at in (0, -1))
    return t(
        f"compute.alt_over_{key}",
        first=count(CONTEXTS[0]),
        last=count(CONTEXTS[-1]),
        at_first=listed(view.ways, first),
        at_last=listed(view.ways, last),
    )


def products(view: View) -> str:
    """Which way's products are drawn, and which of them grow with the context."""
    cost = view.cost(view.shown)
    growing = [symbol_html(name) for name in cost.growing if cost.step_flops.get(name)]
    values = {"name": label(view.ways, view.shown), "flop": flop(view.layers * cost.total_flops)}
    if not growing:
        return t("compute.products_even", **values)
    share = flop(view.layers * cost.attention_flops)
    return t("compute.products", **values, growing=", ".join(growing), share=share)


def products_alt(view: View) -> str:
    """The bars in words."""
    flops = view.cost(view.shown).step_flops
    parts = [t("ways.amount", name=name, n=flop(view.layers * n)) for name, n in flops.items()]
    name = label(view.ways, view.shown)
    return t("compute.alt_products", name=name, parts=t("ways.between").join(parts))


def question(view: View) -> Question | None:
    """Ask from how many tokens on it takes fewer FLOP than MLA; None if always or never."""
    code, config = view.shown, view.ways[view.shown].config
    turn = view.choosing_wins() if code == INDEXED else view.lighter_from(code)
    if turn in (None, 1):
        return None
    sizes = {name: count(n) for name in OF_THE_WHY if (n := vars(config).get(name))}
    dense = label(view.ways, view.dense)
    return decades(
        f"compute_{view.phase}_{code}",
        t(f"compute.guess_later_{view.phase}", name=variant_name(code), dense=dense),
        turn,
        (1, LONGEST),
        say=lambda n: tokens(count(n)),
        why=t(f"compute.guess_{mechanisms.of_variant(code).key}_why", **sizes),
        hides=("lead", "place_over", *["place_choosing"] * (code == INDEXED)),
    )
