"""The maps of one head among those that are run, and the cell of them that is looked at."""

from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from mla_engine.studies.words import generated_words, words_of
from ui.parts.maps.columns import columns, count_of
from ui.parts.maps.run import Run, block_of_heads, run
from ui.settings import state
from ui.settings.page import Note
from ui.sources.layers import form_of
from ui.sources.model import Model, present

WHOLE = 1024  # tokens of a text whose maps are run whole
CELL = "map_query", "map_key"  # of the settings
SHOWN_WORD = 20  # characters of a word in a sentence


@dataclass(frozen=True, eq=False)
class Maps:
    """A run and what the reader chose to see of it; as small as the run itself."""

    model: Model
    run: Run
    head: int
    query: int
    key: int
    causal: bool
    temperature: float

    @property
    def attention(self) -> np.ndarray:
        """[h,t,s] with this mask and temperature."""
        return self.run.attention(self.causal, self.temperature)

    @property
    def place(self) -> int:
        """The place of the chosen head among those run."""
        return self.run.heads.index(self.head)

    @property
    def mask(self) -> np.ndarray:
        """The cells of the maps that are shown, bool [t,s]."""
        return self.run.mask if self.causal else np.ones_like(self.run.mask)

    @property
    def share(self) -> float:
        """The attention of the chosen cell."""
        return float(self.attention[self.place, self.query, self.key])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the maps' columns."""
        return columns(self.run)

    @property
    def parts(self) -> tuple[str, ...]:
        """The codes of the logits' parts, where there is more than one that add up."""
        found = () if self.run.sinks else tuple(self.run.scores)
        return found if len(found) > 1 else ()

    def matrix(self, chart: str) -> np.ndarray:
        """Return the values of the chosen head's map `chart` [t,s]; NaN where it is masked."""
        if chart == "scores":
            values = self.run.logits[self.place]
        elif chart in self.parts:
            values = self.run.tensors[chart][0, self.place]
        else:
            values = self.attention[self.place]
        return np.where(self.mask, values, np.nan)


def words(s: SimpleNamespace) -> tuple[str, ...]:
    """Return the tokens: a real model's, or those of the reader's text, or made-up ones."""
    model = present()
    if model.checkpoint or model.is_trained or not (s.generated or s.text):
        return model.words
    return generated_words(min(s.generated, WHOLE)) or words_of(s.text)


def mend(s: SimpleNamespace) -> list[Note]:
    """Bring heads, query and key to the nearest that there are; notes on what a link asked for."""
    heads, tokens = present().sizes["n_heads"], len(words(s))
    most = {"map_head": heads - 1, "map_run": heads, "map_query": tokens - 1}
    return state.at_most(**most, map_key=_columns(tokens) - 1)


def begin_at_an_entry(s: SimpleNamespace) -> None:
    """Choose an entry where the cell is still the default, which no window shows.

    Of a query that has no entry to read yet it is what it looks at most.
    """
    if (s.query, s.key) != tuple(map(state.default, CELL)):
        return
    with suppress(ValueError):  # which the page will tell
        maps = chosen(s)
        row, n = maps.attention[maps.place, maps.query], len(maps.run.words)
        entries = row[n:-1]
        best = n + int(entries.argmax()) if entries.any() else int(row.argmax())
        state.change(map_key=best)


def _columns(tokens: int) -> int:
    """Return the number of the maps' columns; of words where no layer can have these sizes."""
    try:
        return count_of(present().config(), tokens)
    except ValueError:
        return tokens


def chosen(
    s: SimpleNamespace, *, heads: int = 0, causal: bool = True, temperature: float = 1.0
) -> Maps:
    """Return the head and the cell that are set, once `mend` has brought them within what there is.

    Args:
        s: the settings of maps, as a page hands them in, by their short names.
        heads: how many to run at most; 0 runs as many as take a moment.
        causal: whether later words are masked.
        temperature: of the softmax.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    model, tokens = present(), words(s)
    config = model.config()
    wanted = 1 if form_of(config, model.form).read else heads  # of a state, step after step
    block = block_of_heads(config, len(tokens), s.head, wanted)
    ran = run(config, model.form, tokens, model.source_of(config), block)
    return Maps(model, ran, s.head, s.query, s.key, causal, temperature)


def short(word: str) -> str:
    """Return a word for a sentence, isolated, so that a right-to-left one turns nothing."""
    cut = word if len(word) <= SHOWN_WORD else word[: SHOWN_WORD - 1] + "…"
    return f"\u2068{cut}\u2069"
