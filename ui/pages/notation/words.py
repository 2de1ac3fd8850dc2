"""What the page says above the glossary."""

from mla_engine.symbols import SYMBOLS
from ui.pages.notation.view import View
from ui.words.numbers import count
from ui.words.text import listed, t, tensor

ROLES = ("query", "key", "value", "latent", "rope", "output")


def lead(here: View) -> tuple[str, str]:
    """How many symbols the present variant has, and which of them it caches."""
    line = t(
        "notation.line",
        variant=t(f"common.{here.model.variant}"),
        has=count(len(here.present)),
        all=count(len(SYMBOLS)),
        cached=listed(map(tensor, here.cached)),
    )
    return t("common.out_of", n=count(len(here.present)), all=count(len(SYMBOLS))), line


def look() -> str:
    """One sentence on what to look at, each role's word in its colour."""
    words = {r: f'<span class="tensor {r}">{t(f"notation.role_{r}")}</span>' for r in ROLES}
    return t("notation.look", **{f"role_{role}": word for role, word in words.items()})
