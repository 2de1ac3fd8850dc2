"""Toy: how many numbers some tokens leave in the cache."""

from ui.pages.toy.view import View

from mla_engine import costs
from ui.parts.snippet import config
from ui.settings.page import Functions, Link, Page, Recipe
from ui.settings.parsers import Setting, whole


def ran(_here: View) -> Functions:
    """Return the code that counts the numbers of one token."""
    return (costs.cache_elements,)


def recipe(here: View) -> Recipe:
    """The template that counts them, and for how many tokens."""
    chosen = here.model
    return "toy", {"config": config(chosen.config(), chosen.preset), "tokens": here.tokens}


PAGE = Page(
    name="toy",
    group="check",
    order=4,
    settings={"toy_tokens": Setting(3, whole(1, 9), "slider")},
    lecture=("toy_tokens", "preset"),
    code=ran,
    snippet=recipe,
    links=(Link("kv_cache", {"kv_left": "deepseek-v3"}),),
)
