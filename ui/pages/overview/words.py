"""The words of the overview: its title and its four key figures."""

from mla_engine import costs
from ui.pages.overview.view import View
from ui.words.numbers import count, digits, in_millions, size, times
from ui.words.text import t

BF16_BYTES = 2


def title(view: View) -> str:
    """What the layer caches, and what MHA of as many heads would."""
    n = view.config.n_heads
    variant = view.model.variant.removesuffix("_absorbed").upper()
    values = {
        "variant": variant,
        "elements": count(costs.cache_elements(view.config)),
        "mha": count(costs.mha_cache_elements(view.config)),
        "heads": t("overview.one_head" if n == 1 else "overview.some_heads", n=n),
    }
    return t("overview.title_mha" if variant == "MHA" else "overview.title", **values)


def figures(view: View) -> dict[str, tuple[str, str]]:
    """Key of a label -> the figure and what it is measured by."""
    cached, mha = costs.cache_elements(view.config), costs.mha_cache_elements(view.config)
    return {
        "cache": (count(cached), size(cached * BF16_BYTES)),
        "ratio": (times(mha / cached), count(mha)),
        "parameters": (in_millions(costs.parameters(view.config)), ""),
        "equivalent": (digits(costs.equivalent_kv_heads(view.config)), ""),
    }
