"""Overview: what MLA is for, what flows through it, and what it saves at the chosen sizes."""

from mla_engine import costs, mechanisms
from ui.pages.overview.doors import DOORS
from ui.pages.overview.variants import SETTINGS
from ui.pages.overview.view import View
from ui.parts.flow import TOKENS
from ui.parts.snippet import layer
from ui.settings.page import Functions, Link, Page, Recipe

# In a static copy: small and large, MLA and what it is compared with.
RECORDED = "deepseek-v2-lite", "deepseek-v3", "llama-3-8b", "llama-3.1-405b", "qwen3-8b"


def ran(view: View) -> Functions:
    """Return the functions of the engine that say most about what the page ran."""
    counts = costs.cache_elements, costs.held_bytes, costs.parameters
    return (*counts, *mechanisms.form_of(view.model.variant).formulas)


def recipe(view: View) -> Recipe:
    """Return the snippet that makes the page's headline numbers: a template and its values."""
    lines = layer(view.config, view.model.preset, view.model.form)
    sizes = {name: view.model.sizes[name] for name in ("n_heads", "d_head", "d_value")}
    values = lines | sizes | {"tokens": TOKENS}
    if not view.cached:
        return "overview_state", values
    if not view.fixed:
        return "overview", values
    return "overview_long", values | {"context": view.context}


PAGE = Page(
    name="overview",
    group="understand",
    order=1,
    settings=SETTINGS,
    lecture=("variant", "preset"),
    recorded={"preset": RECORDED},
    crossed=(("variant", "preset"),),
    code=ran,
    links=tuple(Link(page) for pages in DOORS.values() for page in pages),
    snippet=recipe,
)
