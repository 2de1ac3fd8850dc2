"""Words that a newcomer may not know, explained where they stand: on hover, tap and focus."""

import html
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from mla_engine.refusals import ORIGINAL
from ui.settings.state import settings
from ui.settings.visit import visit
from ui.words.text import translated

FILE = Path(__file__).with_name("glossary.toml")
# Formulas, code, links, icons and tags; words in bold, whose asterisks a tag would part from them;
# what is quoted: the words of a text, among them “key”, mean nothing of attention.
APART = r"“[^”]*”|\$[^$]*\$|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|:material/\w+:|<[^>]*>|\*\*[^*]*\*\*"


@lru_cache(maxsize=1)
def terms() -> dict[str, dict[str, Mapping[str, str]]]:
    """Term -> what it means and how it is written, each by language."""
    return tomllib.loads(FILE.read_text("utf-8"))


@lru_cache
def _pattern(language: str) -> re.Pattern[str]:
    """Any term, or what is left as it is."""
    written = (
        f"(?P<{name}>{entry['written'].get(language, entry['written'][ORIGINAL])})"
        for name, entry in terms().items()
    )
    return re.compile(rf"{APART}|(?<![A-Za-z-])(?:{'|'.join(written)})(?![A-Za-z-])", re.IGNORECASE)


def explained(text: str) -> str:
    """A paragraph of ours, Markdown: the first of each term underlined, its meaning beside it.

    The first on a page can be reached with the keyboard, the others by mouse and touch alone.
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
