"""Explain words that a newcomer may not know where they are used: on hover, tap and focus."""

import html
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from kvcount.refusals import ORIGINAL
from ui.settings.state import settings
from ui.settings.visit import visit
from ui.words.text import translated

FILE = Path(__file__).with_name("glossary.toml")
# What is not searched: formulas, code, links, icons and tags; bold words, whose asterisks a tag
# would separate from them; and what is quoted: in a text “key” has nothing to do with attention.
APART = r"“[^”]*”|\$[^$]*\$|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|:material/\w+:|<[^>]*>|\*\*[^*]*\*\*"


@lru_cache(maxsize=1)
def terms() -> dict[str, dict[str, Mapping[str, str]]]:
    """Return term -> its meaning and its spelling, each by language."""
    return tomllib.loads(FILE.read_text("utf-8"))


@lru_cache
def _pattern(language: str) -> re.Pattern[str]:
    """Return a pattern of every term and of what is skipped."""
    written = (
        f"(?P<{name}>{entry['written'].get(language, entry['written'][ORIGINAL])})"
        for name, entry in terms().items()
    )
    return re.compile(rf"{APART}|(?<![A-Za-z-])(?:{'|'.join(written)})(?![A-Za-z-])", re.IGNORECASE)


def explained(text: str) -> str:
    """Return a Markdown paragraph with the first use of each term underlined and explained.

    The first on a page can be reached with the keyboard, the others by mouse and touch.
    """
    said: set[str] = set()

    def mark(found: re.Match[str]) -> str:
        term = found.lastgroup
        if term is None or term in said:
            return found[0]
        said.add(term)
        first = term not in visit().explained
        visit().explained.add(term)
        means = html.escape(translated(terms()[term]["means"]))
        place = 0 if first else -1
        return f'<span class="term" tabindex="{place}" aria-description="{means}">{found[0]}</span>'

    return _pattern(settings()["lang"]).sub(mark, text)
