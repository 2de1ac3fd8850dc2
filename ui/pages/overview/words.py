"""The words of the overview: its title and its four key figures."""

from mla_engine import costs
from ui.pages.overview.view import View
from ui.words.numbers import count, digits, heads, in_millions, mixed, size, times
from ui.words.text import t

BF16_BYTES = 2


def lead(view: View) -> tuple[str, str]:
    """How much less than MHA of as many heads the layer caches, and what both do."""
    cached, mha = costs.cache_elements(view.config), costs.mha_cache_elements(view.config)
    variant = view.model.variant.removesuffix("_absorbed").upper()
    values = {
        "variant": variant,
        "elements": count(cached),
        "mha": count(mha),
        "heads": heads(view.config.n_heads),
    }
    if variant == "MHA":
        return t("overview.numbers", n=count(mha)), t("overview.line_mha", **values)
    key, ratio = ("smaller", mha / cached) if cached <= mha else ("larger", cached / mha)
    return t(f"overview.number_{key}", ratio=digits(ratio)), t("overview.line", **values)


def figures(view: View) -> dict[str, tuple[str, str]]:
    """Key of a label -> the figure and what it is measured by."""
    cached, mha = costs.cache_elements(view.config), costs.mha_cache_elements(view.config)
    return {
        "cache": (count(cached), size(cached * BF16_BYTES)),
        "ratio": (times(mha / cached), count(mha)),
        "parameters": (in_millions(costs.parameters(view.config)), ""),
        "equivalent": (mixed(costs.equivalent_kv_heads(view.config)), ""),
    }
