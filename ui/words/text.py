"""Texts in the language of the reader; a file holds each text beside its translations.

Those of a page stand in its room, those of a mechanism in ui/words/mechanisms, and the others in
the folder `texts` beside the code that says them.
"""

import html
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from mla_engine.claims import CLAIMS
from mla_engine.drawn import drawn, isolated
from mla_engine.refusals import ORIGINAL, sentence
from mla_engine.symbols import SYMBOLS
from ui import ROOT
from ui.settings.rooms import RoomError
from ui.settings.shared import LANGUAGES
from ui.settings.state import settings

Said = TypeVar("Said")


def files() -> dict[str, Path]:
    """Every file of texts by the first part of its keys."""
    rooms = {file.parent.name: file for file in sorted(ROOT.glob("ui/pages/*/texts.toml"))}
    return rooms | {file.stem: file for file in sorted(ROOT.glob("ui/*/texts/*.toml"))}


def read(file: Path) -> dict[str, Any]:
    """The texts of one file.

    Raises:
        RoomError: it cannot be read: no permission, no UTF-8, no TOML.
    """
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RoomError(f"{file.relative_to(ROOT)} cannot be read: {error}") from error


@lru_cache(maxsize=1)
def catalogue() -> dict[str, dict[str, str]]:
    """Every text, `page.key` -> {"en": ..., "zh": ...}."""
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
    """What a text's braces stand for: the values given, and else tensors by their codes."""

    def __missing__(self, code: str) -> str:
        return tensor(code)


def t(key: str, **values: object) -> str:
    """The text `page.key` in the present language, or in English, with its values filled in.

    A symbol's code in braces becomes its name in its colour, as HTML: `prose` shows it.
    """
    return translated(catalogue()[key]).format_map(_Filling(values))


def translated(entry: Mapping[str, str]) -> str:
    """A text of several languages in the present one, or in English where that is missing."""
    return entry.get(settings()["lang"], entry[ORIGINAL])


def in_languages(say: Callable[[], Said]) -> dict[str, Said]:
    """What `say` says in every language of the app."""
    own, said = settings()["lang"], {}
    try:
        for lang in LANGUAGES:
            settings()["lang"] = lang
            said[lang] = say()
    finally:
        settings()["lang"] = own
    return said


def listed(parts: Iterable[str]) -> str:
    """Several things in a row, parted as the language does it."""
    return t("common.comma").join(parts)


def named(name: str, value: object) -> str:
    """A name and, behind a colon, what it stands for."""
    return t("common.named", name=name, value=value)


def sentences(parts: Iterable[str]) -> str:
    """Sentences in a row; a full-width stop has its space within."""
    return " ".join(parts).replace("。 ", "。")


def tied(code: str) -> str:
    """The HTML attribute by which a symbol lights with others; empty for a name that is none."""
    return f' data-tensor="{code}"' if code in SYMBOLS else ""


def tooltip(code: str) -> str:
    """The HTML attributes that explain a symbol and tie it; empty for a name that is none."""
    meaning = f' title="{html.escape(t(f"symbols.{code}"))}"' if code in SYMBOLS else ""
    return meaning + tied(code)


def tensor(code: str) -> str:
    """A tensor's name in its colour, its meaning as tooltip: HTML for st.html or Markdown."""
    role = SYMBOLS[code].role
    name, *parts = html.escape(code).split("_")
    raised = "".join(f"<sup>{part}</sup>" for part in parts if part.isupper())
    lowered = "".join(f"<sub>{part}</sub>" for part in parts if not part.isupper())
    return f'<span class="tensor {role}"{tooltip(code)}>{name}{raised}{lowered}</span>'


def refusal(error: ValueError) -> str:
    """Why the engine refuses, in the present language; what it quotes is not escaped."""
    return sentence(error, settings()["lang"])


def safe(text: str) -> str:
    """Text of a reader, so that Markdown, LaTeX and HTML show it as it was typed.

    What hides or turns in it is drawn by its number.
    """
    escaped = html.escape(drawn(text), quote=False)
    shown = (f"&#{ord(c)};" if c in "\\`*_{}[]()#+-.!|~$:<>" else c for c in escaped)
    return isolated("".join(shown))
