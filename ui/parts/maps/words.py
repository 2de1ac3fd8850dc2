"""The sentences about maps, maps with pooled entries, and maps chosen block by block."""

import numpy as np

from ui.parts import prose
from ui.parts.maps.columns import entries
from ui.parts.maps.view import Maps, short
from ui.words.numbers import count, share
from ui.words.text import safe, t


def facts(maps: Maps) -> dict[str, str]:
    """Return the values that alternative texts have of the chosen cell and its run."""
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
    """Return the facts as Markdown shows them."""
    plain = facts(maps)
    return plain | {name: safe(plain[name]) for name in ("query", "target")}


def caption(maps: Maps) -> str:
    """Return the sentence on how many heads and tokens were run."""
    first, last = maps.run.heads[0], maps.run.heads[-1]
    every = len(maps.run.heads) == maps.run.config.n_heads
    key = "run_all" if every else "run_one" if first == last else "run_some"
    said = t(f"maps.{key}", first=count(first), last=count(last), **facts(maps))
    return said + prose.weights_mark(maps.run.source)


def large(maps: Maps) -> str:
    """Return how to read the large map, and the number of the cell framed in it."""
    return t("maps.large_note", **shown(maps)) + prose.weights_mark(maps.run.source)


def sink_under(maps: Maps) -> list[str]:
    """Return what the sink takes of the chosen row; behind a window, the patterns of cells."""
    row, seen = maps.attention[maps.place, maps.query], maps.mask[maps.query]
    values = {"words": count(int(seen[:-1].sum())), "sum": share(float(row.sum()))}
    values |= {"of_words": share(float(row[:-1].sum())), "of_sink": share(float(row[-1]))}
    said = [t("maps.sink_row", **values, **shown(maps))]
    return [*said, t("maps.pooled_patterns_window")] if maps.run.config.sliding_window else said


def pooled_look(maps: Maps) -> str:
    """Return what the columns stand for."""
    if maps.run.config.pooling and not maps.run.entries:
        return t("maps.pooled_look_no_entry", **pooled_facts(maps))
    return t(f"maps.pooled_look_{pooled_kind(maps)}", **pooled_facts(maps))


def pooled_under(maps: Maps) -> list[str]:
    """Return that the row adds up to 1, and what the patterns of hidden cells mean."""
    alone = "" if maps.run.config.pooling else "_window"
    said = pooled_facts(maps)
    return [t(f"maps.pooled_row{alone}", **said), t(f"maps.pooled_patterns{alone}")]


def pooled_facts(maps: Maps) -> dict[str, str]:
    """Return the values of the sentences, as Markdown."""
    row, n = maps.attention[maps.place, maps.query], len(maps.run.words)
    words, read = columns_read(maps)
    of_words, of_entries, of_sink = row[:n].sum(), row[n:-1].sum(), row[-1]
    config = maps.run.config
    complete = (maps.query + 1) // config.pooling if config.pooling else 0
    return shown(maps) | {
        "words": count(words),
        "read": count(read),
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


def columns_read(maps: Maps) -> tuple[int, int]:
    """Return how many words and how many entries the chosen word reads."""
    seen, n = maps.mask[maps.query], len(maps.run.words)
    return int(seen[:n].sum()), int(seen[n:-1].sum())


def pooled_kind(maps: Maps) -> str:
    """Return "chosen" or "pooled" by how entries are read, or "window" without entries."""
    if maps.run.config.chooses:
        return "chosen"
    return "pooled" if maps.run.config.pooling else "window"


def block_facts(maps: Maps) -> dict[str, str]:
    """Return the values of the sentences, as Markdown."""
    config, seen = maps.run.config, maps.query + 1
    full, own = divmod(seen, config.pooling)
    return shown(maps) | {
        "n": count(int(maps.mask[maps.query].sum())),
        "seen": count(seen),
        "entries": count(maps.run.blocks),
        "read": count(len(chosen_blocks(maps))),
        "full": count(full),
        "own": count(own),
        "pools": count(config.pooling),
        "slots": count(config.n_slots),
        "k": count(config.chosen_blocks),
        "most": count(config.index_topk + config.pooling - 1),
    }


def chosen_blocks(maps: Maps) -> list[str]:
    """Return the blocks that the chosen word chooses, by their words."""
    if not maps.run.blocks:
        return []
    places = np.flatnonzero(maps.run.tensors["chosen_E"][0, maps.query])
    return [entries(maps.run)[place] for place in places]
