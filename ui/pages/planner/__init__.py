"""Planner: how many sequences GPUs can serve, how fast at best, and what limits them."""

from ui.pages.planner.headline import code, snippet
from ui.pages.planner.view import SETTINGS
from ui.settings.page import Page

PAGE = Page(
    name="planner",
    group="size",
    order=7,
    settings=SETTINGS,
    sizes=False,
    lecture=("plan_data", "plan_context"),
    code=code,
    snippet=snippet,
    uploads=True,
)
