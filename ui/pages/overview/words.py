"""The words of the overview: its title, its four key figures and its question."""

from dataclasses import replace

from mla_engine import costs, mechanisms
from ui.pages.overview.view import View
from ui.parts.questions import Question, among, choice
from ui.sources.model import built
from ui.words.numbers import amount, count, digits, heads, in_millions, mixed, size, times
from ui.words.text import t, variant_name

BF16_BYTES = 2


def is_later(variant: str) -> bool:
    """Tell whether a variant came after MLA and may be chosen: it has a point of its own."""
    return mechanisms.of_variant(variant).after_mla and variant in mechanisms.offered()


def say(part: str, variant: str, **values: str) -> str:
    """The title, what to look at, or the problem: the variant's own, or else MLA's."""
    return t(f"overview.{part}_{variant}" if is_later(variant) else f"overview.{part}", **values)


def look(view: View) -> str:
    """Return what a token leaves in the cache, with the sizes of entries, window and choice."""
    config = view.config
    sizes = {"pooling": config.pooling, "window": config.window, "topk": config.index_topk}
    said = {key: count(size) for key, size in sizes.items() if size}
    return say("look", view.model.variant, **said)


def lead(view: View) -> tuple[str, str]:
    """Return how much less the layer caches than MHA of as many heads, and what both do."""
    kept, mha, line = view.cached, view.mha, "line"
    variant = variant_name(view.model.variant)
    values = {
        "variant": variant,
        "elements": amount(kept),
        "mha": count(mha),
        "heads": heads(view.config.n_heads),
        "fixed": count(view.fixed),
    }
    if variant == "MHA":
        return t("overview.numbers", n=count(mha)), t("overview.line_mha", **values)
    if not kept:
        values["tokens"] = count(view.outgrown)
        return t("overview.number_state"), t("overview.line_state", **values)
    if view.fixed:  # which counts in a long text
        kept, mha, line = view.held(view.context), mha * view.context, "line_fixed"
        values |= {"tokens": count(view.context), "held": count(kept), "all": count(mha)}
    key, ratio = ("smaller", mha / kept) if kept <= mha else ("larger", kept / mha)
    return t(f"overview.number_{key}", ratio=digits(ratio)), t(f"overview.{line}", **values)


def figures(view: View) -> dict[str, tuple[str, str]]:
    """Key of a label -> the figure and what it is measured by."""
    parameters = {"parameters": (in_millions(costs.parameters(view.config)), "")}
    if not view.cached:
        state = count(view.fixed), size(view.fixed * BF16_BYTES)
        turn = count(view.outgrown), count(view.mha)
        return {"state": state, "turn": turn} | parameters
    cached, mha, at = view.cached, view.mha, ""
    beside, each = size(cached * BF16_BYTES), cached
    if view.fixed:
        at, each = "_at", view.held(view.context) / view.context
        beside = t("overview.and_fixed", size=beside)
    by, n_heads = count(view.context if at else mha), view.config.n_heads
    equivalent = mixed(each * n_heads / mha), count(view.context) if at else ""
    return {
        "cache": (amount(cached), beside),
        f"ratio{at}": (times(mha / each), by),
        **parameters,
        f"equivalent{at}": equivalent,
    }


def question(view: View) -> Question:
    """Ask how much a token leaves in the cache if the layer has twice as many heads.

    Where nothing is left of a token, ask how much the state holds.
    """
    model = view.model
    sizes = model.sizes | {"n_heads": 2 * model.sizes["n_heads"]}
    more = replace(view, config=built(model.base, sizes, model.variant))
    state = not view.cached
    now, then = (one.fixed if state else one.cached for one in (view, more))
    numbers, right = among([now / 2, now, 2 * now], then)
    asks = "overview.guess_state" if state else "overview.guess"
    return choice(
        "overview",
        t(asks, heads=count(sizes["n_heads"]), before=count(model.sizes["n_heads"])),
        [amount(n) for n in numbers],
        right,
        why=_why(state=state, grows=then > now),
    )


def _why(*, state: bool, grows: bool) -> str:
    if state:
        return t("overview.guess_states")
    return t("overview.guess_grows") if grows else t("overview.guess_stays")
