"""Return texts in the reader's language; a file holds each text beside its translations.

A page's texts are in its folder, those of a part in a file beside it, a mechanism's in
ui/words/mechanisms, and all others in a folder `texts` beside the code that uses them.
"""

import html
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from kvcount.drawn import ISOLATES, drawn, isolated
from kvcount.refusals import ORIGINAL, sentence
from mla_engine import RopeConfig, mechanisms
from mla_engine.claims import CLAIMS
from mla_engine.symbols import SYMBOLS
from ui import ROOT
from ui.settings.page import PageError
from ui.settings.shared import LANGUAGES
from ui.settings.state import settings

Said = TypeVar("Said")

HAN = "\u3400-\u9fff（）“”，。；：、"
CHINESE = re.compile(f"[{HAN}]")
SPACED = re.compile(  # a place for a value, with the spaces between it and Chinese words
    rf"(?P<before>(?<=[{HAN}]) )?(?P<braces>\{{(?P<code>\w+)\}})(?P<after> (?=[{HAN}]))?"
)
MARKS = {ord(mark): f"&#{ord(mark)};" for mark in "\\`*_{}[]()#+-.!|~$:<>"}  # of Markdown


def files() -> dict[str, Path]:
    """Return every file of texts, by the first part of its keys."""
    pages = {file.parent.name: file for file in sorted(ROOT.glob("ui/pages/*/texts.toml"))}
    parts = [file for file in sorted(ROOT.glob("ui/pages/*/*.toml")) if file.stem != "texts"]
    parts += sorted(ROOT.glob("ui/*/texts/*.toml"))
    return pages | {file.stem: file for file in parts}


def read(file: Path) -> dict[str, Any]:
    """Return the texts of one file.

    Raises:
        PageError: it cannot be read: no permission, no UTF-8, no TOML.
    """
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise PageError(f"{file.relative_to(ROOT)} cannot be read: {error}") from error


@lru_cache(maxsize=1)
def catalogue() -> dict[str, dict[str, str]]:
    """Return every text: `page.key` -> {"en": ..., "zh": ...}."""
    parts = [{name: read(file)} for name, file in files().items()]
    parts += map(read, sorted(ROOT.glob("ui/words/mechanisms/*.toml")))
    texts = {
        f"{name}.{key}": entry
        for part in parts
        for name, entries in part.items()
        for key, entry in entries.items()
    }
    for code, symbol in SYMBOLS.items():  # the glossary itself is English
        texts[f"symbols.{code}"][ORIGINAL] = symbol.meaning
    for claim in CLAIMS.values():  # and so are the statements
        said = {"statement": claim.statement, "method": claim.method, "sentence": claim.sentence}
        for part, text in said.items():
            texts[f"statements.{claim.id}_{part}"][ORIGINAL] = text
        texts[f"statements.source_{claim.id[0]}"][ORIGINAL] = claim.source
    return texts


class _Filling(dict):
    """The values for a text's braces; a code that is not among them becomes its tensor."""

    def __missing__(self, code: str) -> str:
        return tensor(code)


def t(key: str, **values: object) -> str:
    """Return the text `page.key` in the reader's language with its values filled in.

    A symbol's code in braces becomes its name in its colour, as HTML: `prose` shows it. Between a
    Chinese word of the text and one among the values there is no space.
    """
    entry = catalogue()[key]
    text = entry.get(settings()["lang"], entry[ORIGINAL])
    if values:
        text = SPACED.sub(partial(_closed, values), text)
    return text.format_map(_Filling(values))


def _closed(values: Mapping[str, object], place: re.Match[str]) -> str:
    """Return a place without its space on a side where its value is Chinese."""
    value = str(values.get(place["code"], "")).strip(ISOLATES)
    before = "" if CHINESE.match(value[:1]) else place["before"] or ""
    after = "" if CHINESE.match(value[-1:]) else place["after"] or ""
    return f"{before}{place['braces']}{after}"


def translated(entry: Mapping[str, str]) -> str:
    """Return a text in the reader's language, or in English where a translation is missing."""
    return entry.get(settings()["lang"], entry[ORIGINAL])


def in_languages(say: Callable[[], Said]) -> dict[str, Said]:
    """Return what `say` returns in each language of the app."""
    own, said = settings()["lang"], {}
    try:
        for lang in LANGUAGES:
            settings()["lang"] = lang
            said[lang] = say()
    finally:
        settings()["lang"] = own
    return said


def variant_name(variant: str) -> str:
    """Return what a variant's mechanism is called in a sentence: "MLA", "DSA"."""
    if f"kinds.{variant}" in catalogue():
        return t(f"kinds.{variant}")
    return mechanisms.variants()[variant].kind


def scaling_name(rope: RopeConfig) -> str:
    """Return the name of the scaling of a rotation's frequencies; empty where there is none."""
    return t(f"rotation.{type(rope.scaling).__name__}") if rope.scaling else ""


def listed(parts: Iterable[str]) -> str:
    """Join items with the language's comma."""
    return t("common.comma").join(parts)


def named(name: str, value: object) -> str:
    """Return "name: value" with the language's colon."""
    return t("common.named", name=name, value=value)


def parted(parts: Iterable[str]) -> str:
    """Join items that have commas of their own with the language's semicolon."""
    return t("common.between").join(parts)


def bracketed(name: str, inside: str) -> str:
    """Return "name (inside)" with the language's brackets."""
    return t("common.bracketed", name=name, inside=inside)


def sentences(parts: Iterable[str]) -> str:
    """Join sentences, with a space except after a full-width stop."""
    return " ".join(parts).replace("。 ", "。")


def linked(code: str) -> str:
    """Return the HTML attribute that links a symbol to its other uses; empty for another name."""
    return f' data-tensor="{code}"' if code in SYMBOLS else ""


def tooltip(code: str) -> str:
    """Return the HTML attributes that explain and link a symbol; empty for another name."""
    meaning = f' title="{html.escape(t(f"symbols.{code}"))}"' if code in SYMBOLS else ""
    return meaning + linked(code)


def tensor(code: str) -> str:
    """Return a tensor's name in its colour with its meaning as tooltip, as HTML."""
    role = SYMBOLS[code].role
    name, *parts = html.escape(code).split("_")
    raised = "".join(f"<sup>{part}</sup>" for part in parts if part.isupper())
    lowered = "".join(f"<sub>{part}</sub>" for part in parts if not part.isupper())
    return f'<span class="tensor {role}"{tooltip(code)}>{name}{raised}{lowered}</span>'


def refusal(error: ValueError) -> str:
    """Return why the engine refuses in the reader's language; what it quotes is not escaped."""
    return sentence(error, settings()["lang"])


def safe(text: str) -> str:
    """Escape a reader's text, so that Markdown, LaTeX and HTML show it as it was typed.

    Characters that hide or turn text are shown by their code points.
    """
    escaped = html.escape(drawn(text), quote=False)
    return isolated(escaped.translate(MARKS))
