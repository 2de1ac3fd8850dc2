"""What is said of maps: beside them, and in their place where they cannot be seen."""

from ui.parts import weights
from ui.parts.maps.view import Maps, short
from ui.words.numbers import count, share
from ui.words.text import safe, t


def facts(maps: Maps) -> dict[str, str]:
    """What alternative texts say of the chosen cell and its run, as plain text."""
    return {
        "query": short(maps.run.words[maps.query]),
        "target": short(maps.columns[maps.key]),
        "share": share(maps.share),
        "head": count(maps.head),
        "heads": count(maps.run.config.n_heads),
        "run": count(len(maps.run.heads)),
        "tokens": count(len(maps.run.words)),
        "columns": count(len(maps.columns)),
        "variant": t(f"common.{maps.model.variant}"),
    }


def shown(maps: Maps) -> dict[str, str]:
    """The facts as Markdown shows them."""
    plain = facts(maps)
    return plain | {name: safe(plain[name]) for name in ("query", "target")}


def caption(maps: Maps) -> str:
    """How many heads and tokens were run."""
    first, last = maps.run.heads[0], maps.run.heads[-1]
    every = len(maps.run.heads) == maps.run.config.n_heads
    key = "run_all" if every else "run_one" if first == last else "run_some"
    said = t(f"maps.{key}", first=count(first), last=count(last), **facts(maps))
    return said + weights.mark(maps.run.origin)


def large(maps: Maps) -> str:
    """How to read the large map, and the number of the cell that is framed in it."""
    return t("maps.large_note", **shown(maps)) + weights.mark(maps.run.origin)
