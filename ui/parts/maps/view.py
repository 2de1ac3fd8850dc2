"""What the attention maps' page shows: a run of the present settings and the reader's choices."""

from dataclasses import dataclass

import numpy as np

from mla_engine import GroupedConfig
from mla_engine.studies.words import generated_words, words_of
from ui.engine import model
from ui.engine import real_layer as source
from ui.parts.maps import terms as maps_terms
from ui.parts.maps.run import Run, block_of_heads, run
from ui.settings import state
from ui.settings.page import Note
from ui.words.numbers import count
from ui.words.text import safe, t

FORMS = {"mla": "expanded", "mla_absorbed": "absorbed"}
SHOWN_WORD = 20  # characters of a word in a sentence
LEAST_SHARE = 1e-5  # that is written out


def words() -> tuple[str, ...]:
    """The tokens that the settings stand for."""
    s = state.settings()
    if source.chosen() or not (s["map_generated"] or s["map_text"]):
        return model.words()
    return generated_words(s["map_generated"]) or words_of(s["map_text"])


@dataclass(frozen=True)
class View:
    """A run and what the reader chose to see of it."""

    run: Run
    attention: np.ndarray  # [h,t,s]
    head: int
    query: int
    key: int
    causal: bool
    temperature: float

    @property
    def place(self) -> int:
        """Where the chosen head stands among those run."""
        return self.run.heads.index(self.head)

    @property
    def mask(self) -> np.ndarray:
        """bool [t,s]: what is shown of the maps."""
        return self.run.mask if self.causal else np.ones_like(self.run.mask)

    @property
    def provenance(self) -> maps_terms.Provenance:
        """Where the chosen cell's number comes from."""
        cell = (self.query, self.key)
        found = (self.attention, self.head, cell, self.causal, self.temperature)
        return maps_terms.provenance(self.run, *found)

    @property
    def facts(self) -> dict[str, str]:
        """What alternative texts say, in plain words."""
        return {
            "query": short(self.run.words[self.query]),
            "target": short(self.run.words[self.key]),
            "share": percent(float(self.attention[self.place, self.query, self.key])),
            "head": count(self.head),
            "heads": count(self.run.config.n_heads),
            "run": count(len(self.run.heads)),
            "tokens": count(len(self.run.words)),
            "variant": t(f"common.{model.present_variant()}"),
        }

    @property
    def look(self) -> str:
        """What to look at: whether equal words enter a layer as equal vectors."""
        loaded, config = source.chosen(), self.run.config
        told_apart = isinstance(config, GroupedConfig) and config.rope is None
        if loaded and (told_apart or source.inputs(loaded).origin != "embedding"):
            return self.say("look_unequal")
        return self.say("look" if self.parts else "look_one")

    def say(self, key: str) -> str:
        """A text of the page with these facts, safe as Markdown."""
        facts = self.facts | {name: safe(self.facts[name]) for name in ("query", "target")}
        return t(f"attention_maps.{key}", **facts)

    def matrix(self, chart: str) -> np.ndarray:
        """What the map `chart` of the chosen head shows [t,s]; NaN where it is masked."""
        if chart == "scores":
            values = self.run.logits[self.place]
        elif chart in self.parts:
            values = self.run.tensors[chart][0, self.place]
        else:
            values = self.attention[self.place]
        return np.where(self.mask, values, np.nan)

    @property
    def parts(self) -> tuple[str, ...]:
        """The codes of the logits' parts, where there is more than one."""
        found = tuple(code for code in ("scores_C", "scores_R") if code in self.run.tensors)
        return found if len(found) > 1 else ()


def short(word: str) -> str:
    """A word as it stands in a sentence, isolated, so that a right-to-left one turns nothing."""
    cut = word if len(word) <= SHOWN_WORD else word[: SHOWN_WORD - 1] + "…"
    return f"\u2068{cut}\u2069"


def percent(share: float) -> str:
    """A share of 1 in per cent, three digits of it."""
    if 0 < share < LEAST_SHARE:
        least = t("attention_maps.percent", value=f"{100 * LEAST_SHARE:g}")
        return t("attention_maps.less_than", share=least)
    value = maps_terms.number(100 * share, 3) if share else "0"
    return t("attention_maps.percent", value=value)


def mend() -> list[Note]:
    """Bring heads, query and key to the nearest that there are; notes on what a link asked for."""
    heads, last = model.sizes()["n_heads"], len(words()) - 1
    return state.at_most(map_head=heads - 1, map_run=heads, map_query=last, map_key=last)


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    s = state.settings()
    tokens, config = words(), model.config()
    heads = block_of_heads(config, len(tokens), s["map_head"], s["map_run"])
    form = FORMS.get(model.present_variant(), "grouped")
    found = run(config, form, tokens, model.origin(config), heads)
    attention = found.attention(s["map_causal"], s["map_temperature"])
    chosen = (s["map_head"], s["map_query"], s["map_key"], s["map_causal"], s["map_temperature"])
    return View(found, attention, *chosen)
