"""Words and numbers in the reader's language; ui/texts holds each text beside its translation."""

import html
import tomllib
from functools import lru_cache
from pathlib import Path

from mla_engine.claims import CLAIMS
from mla_engine.symbols import SYMBOLS
from ui.state import settings

FOLDER = Path(__file__).parent / "texts"


@lru_cache(maxsize=1)
def catalogue() -> dict[str, dict[str, str]]:
    """Every text, `page.key` -> {"en": ..., "zh": ...}."""
    texts = {
        f"{file.stem}.{key}": entry
        for file in sorted(FOLDER.glob("*.toml"))
        for key, entry in tomllib.loads(file.read_text("utf-8")).items()
    }
    for code, symbol in SYMBOLS.items():  # the glossary itself is English
        texts[f"symbols.{code}"]["en"] = symbol.meaning
    for claim in CLAIMS.values():  # and so are the statements
        for part in ("statement", "method", "sentence"):
            texts[f"claims.{claim.id}_{part}"]["en"] = getattr(claim, part)
        texts[f"claims.source_{claim.id[0]}"]["en"] = claim.source
    return texts


class _Filling(dict):
    """What a text's braces stand for: the values given, and else tensors by their codes."""

    def __missing__(self, code: str) -> str:
        return tensor(code)


def t(key: str, **values: object) -> str:
    """The text `page.key` in the present language, with its values filled in.

    A symbol's code in braces becomes its name in its colour, as HTML: `page.prose` shows it.
    """
    return catalogue()[key][settings()["lang"]].format_map(_Filling(values))


def count(value: float) -> str:
    """A whole number with thousands separators."""
    return f"{value:,.0f}"


def digits(value: float, significant: int = 3) -> str:
    """A number with a fixed count of significant digits, so that nothing jumps: 7.11, 4.00."""
    if value and not 1e-4 <= abs(value) < 10**7:
        return f"{value:.{significant - 1}e}"
    text = f"{value:#,.{significant}g}"
    return count(value) if "e" in text else text.rstrip(".")


def times(ratio: float) -> str:
    """A ratio, "56.9x"."""
    return f"{digits(ratio)}×"


def size(n_bytes: float, binary: bool = True) -> str:
    """Bytes in GiB, MiB ... (1,024) or GB, MB ... (1,000), the unit always named."""
    step, units = (
        (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
        if binary
        else (1000, ("B", "kB", "MB", "GB", "TB", "PB"))
    )
    place = 0
    while n_bytes >= step and place < len(units) - 1:
        n_bytes, place = n_bytes / step, place + 1
    return f"{digits(n_bytes)} {units[place]}"


def tooltip(code: str) -> str:
    """The HTML attribute that explains a symbol; empty for a name that is none."""
    return f' title="{html.escape(t(f"symbols.{code}"))}"' if code in SYMBOLS else ""


def tensor(code: str) -> str:
    """A tensor's name in its colour, its meaning as tooltip: HTML for st.html or Markdown."""
    role = SYMBOLS[code].role
    name, *parts = html.escape(code).split("_")
    raised = "".join(f"<sup>{part}</sup>" for part in parts if part.isupper())
    lowered = "".join(f"<sub>{part}</sub>" for part in parts if not part.isupper())
    return f'<span class="tensor {role}"{tooltip(code)}>{name}{raised}{lowered}</span>'


def safe(text: str) -> str:
    """Text of a reader, so that Markdown, LaTeX and HTML show it as it was typed."""
    escaped = html.escape(text, quote=False)
    return "".join(f"&#{ord(c)};" if c in "\\`*_{}[]()#+-.!|~$:<>" else c for c in escaped)
