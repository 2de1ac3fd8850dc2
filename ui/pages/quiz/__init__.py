"""Quiz: predict, then reveal; questions and answers come from the engine, the set from a number."""

from ui.pages.quiz import code, snippet
from ui.pages.quiz.places import EVERY
from ui.pages.quiz.settings import SETTINGS
from ui.pages.quiz.view import mend
from ui.settings.page import Page

PAGE = Page(
    name="quiz",
    group="check",
    order=2,
    settings=SETTINGS,
    sizes=False,
    lecture=("quiz_seed", "quiz_count"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
    links=EVERY,
)
