"""Claims: every statement of the sources with its verdict and the numbers that it follows from."""

from ui.pages.claims import code, snippet
from ui.pages.claims.places import PLACES
from ui.pages.claims.settings import SETTINGS
from ui.settings.page import Page

PAGE = Page(
    name="claims",
    group="check",
    order=1,
    settings=SETTINGS,
    sizes=False,
    lecture=("claims_verdict", "claims_source"),
    code=code.ran,
    snippet=snippet.recipe,
    links=tuple(PLACES.values()),
)
