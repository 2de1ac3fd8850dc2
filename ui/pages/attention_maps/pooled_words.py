"""What the page says of a map whose columns are words, pooled entries and a sink."""

from ui.parts.maps.pooled_words import facts, kind, read
from ui.parts.maps.pooled_words import look as columns
from ui.parts.maps.view import Maps
from ui.words.numbers import count
from ui.words.text import sentences, t


def lead(maps: Maps) -> tuple[str, str]:
    """How many columns the chosen word reads in place of all words up to it.

    Of a text too short for it to read fewer, how many it reads of any.
    """
    n, seen = sum(read(maps)), maps.query + 1
    said = facts(maps) | {"seen": count(seen), "n": count(n)}
    number = "reads" if n < seen else f"short_{kind(maps)}"
    line = t(f"attention_maps.line_{kind(maps)}", **said)
    return t(f"attention_maps.{number}", **said), line


def look(maps: Maps) -> str:
    """Which columns stand for what; of weights at random, that their choice is noise."""
    if isinstance(maps.run.origin, int) and maps.run.entries:
        return sentences((columns(maps), t(f"attention_maps.noise_{kind(maps)}")))
    return columns(maps)
