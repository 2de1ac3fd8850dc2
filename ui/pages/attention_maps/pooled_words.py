"""What the page says of a map whose columns are words, pooled entries and a sink."""

from ui.parts.maps.view import Maps
from ui.parts.maps.words import shown
from ui.words.numbers import count, share
from ui.words.text import sentences, t


def lead(maps: Maps) -> tuple[str, str]:
    """How many columns the chosen word reads in place of all words up to it.

    Of a text too short for it to read fewer, how many it reads of any.
    """
    read, seen = sum(_read(maps)), maps.query + 1
    said = facts(maps) | {"seen": count(seen), "n": count(read)}
    number = "reads" if read < seen else f"short_{_kind(maps)}"
    line = t(f"attention_maps.line_{_kind(maps)}", **said)
    return t(f"attention_maps.{number}", **said), line


def look(maps: Maps) -> str:
    """Which columns stand for what."""
    if not maps.run.entries:
        return t("attention_maps.look_no_entry", **facts(maps))
    said = t(f"attention_maps.look_{_kind(maps)}", **facts(maps))
    drawn = isinstance(maps.run.origin, int)
    return sentences((said, t(f"attention_maps.noise_{_kind(maps)}"))) if drawn else said


def under(maps: Maps) -> list[str]:
    """That the row adds up to 1, and what the patterns of hidden cells mean."""
    return [t("attention_maps.row", **facts(maps)), t("attention_maps.patterns")]


def facts(maps: Maps) -> dict[str, str]:
    """What the sentences say, as Markdown."""
    row, n = maps.attention[maps.place, maps.query], len(maps.run.words)
    words, entries = _read(maps)
    of_words, of_entries, of_sink = row[:n].sum(), row[n:-1].sum(), row[-1]
    config = maps.run.config
    return shown(maps) | {
        "words": count(words),
        "read": count(entries),
        "entries": count(maps.run.entries),
        "complete": count((maps.query + 1) // config.pooling),
        "window": count(config.window),
        "pools": count(config.pooling),
        "slots": count(config.n_slots),
        "k": count(config.index_topk or 0),
        "most": count(config.window + (config.index_topk or 0)),
        "of_words": share(float(of_words)),
        "of_entries": share(float(of_entries)),
        "of_sink": share(float(of_sink)),
        "sum": share(float(row.sum())),
    }


def _read(maps: Maps) -> tuple[int, int]:
    """How many words and how many entries the chosen word reads."""
    seen, n = maps.mask[maps.query], len(maps.run.words)
    return int(seen[:n].sum()), int(seen[n:-1].sum())


def _kind(maps: Maps) -> str:
    return "chosen" if maps.run.config.chooses else "pooled"
