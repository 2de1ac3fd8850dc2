"""What is said of a map whose columns are words, pooled entries and a sink."""

from ui.parts.maps.view import Maps
from ui.parts.maps.words import shown
from ui.words.numbers import count, share
from ui.words.text import t


def look(maps: Maps) -> str:
    """Which columns stand for what."""
    if maps.run.config.pooling and not maps.run.entries:
        return t("maps.pooled_look_no_entry", **facts(maps))
    return t(f"maps.pooled_look_{kind(maps)}", **facts(maps))


def under(maps: Maps) -> list[str]:
    """That the row adds up to 1, and what the patterns of hidden cells mean."""
    alone = "" if maps.run.config.pooling else "_window"
    said = facts(maps)
    return [t(f"maps.pooled_row{alone}", **said), t(f"maps.pooled_patterns{alone}")]


def facts(maps: Maps) -> dict[str, str]:
    """What the sentences say, as Markdown."""
    row, n = maps.attention[maps.place, maps.query], len(maps.run.words)
    words, entries = read(maps)
    of_words, of_entries, of_sink = row[:n].sum(), row[n:-1].sum(), row[-1]
    config = maps.run.config
    complete = (maps.query + 1) // config.pooling if config.pooling else 0
    return shown(maps) | {
        "words": count(words),
        "read": count(entries),
        "entries": count(maps.run.entries),
        "complete": count(complete),
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


def read(maps: Maps) -> tuple[int, int]:
    """How many words and how many entries the chosen word reads."""
    seen, n = maps.mask[maps.query], len(maps.run.words)
    return int(seen[:n].sum()), int(seen[n:-1].sum())


def kind(maps: Maps) -> str:
    """Whether entries are "chosen", all "pooled" ones read, or a "window" alone."""
    if maps.run.config.chooses:
        return "chosen"
    return "pooled" if maps.run.config.pooling else "window"
