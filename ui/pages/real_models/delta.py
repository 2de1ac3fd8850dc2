"""A layer that keeps a state: what is read of it, how long each head remembers, how it writes."""

from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Spread
from ui.pages.real_models.kinds import Kind
from ui.pages.real_models.matrices import matrices
from ui.parts import charts, prose
from ui.parts.maps import over_time
from ui.words.numbers import count, digits
from ui.words.text import t

LEAST, MOST = 1e-3, 1e6  # tokens of a half-life that is told
ENDS = 0.1, 0.9  # of what lies between: a bar


def _tokens(half_life: float) -> str:
    """Return a half-life with its unit."""
    if half_life >= MOST:
        return t("real_models.tokens_or_more", n=count(MOST))
    return t("real_models.tokens", n=digits(float(half_life)))


class Delta(Kind):
    """A layer of a state."""

    def lead(self) -> tuple[str, str]:
        """Return after how many tokens half of the middle head's rows have lost half."""
        middle = self.view.measured.middle.numpy()
        half = _tokens(np.median(middle))
        ends = {"least": _tokens(middle.min()), "most": _tokens(middle.max())}
        said = t("real_models.line_state", n=half, heads=self.heads, **self.facts, **ends)
        return half, said

    def look(self) -> str:
        """Return the sentence on what to look at."""
        return t("real_models.look_state")

    def of_head(self) -> str:
        """Return how long the chosen head remembers, and how it writes."""
        found, head = self.view.measured, self.maps.head
        values = {"head": count(head), "n": _tokens(found.middle[head])}
        values["b"] = digits(float(np.median(found.strength[head])))
        values |= {name: digits(float(vars(found)[name][head])) for name in ("put", "erased")}
        return t("real_models.kind_state", **values)

    def cell(self) -> None:
        """Draw after which word the state is read, and of which word the value is looked for."""
        over_time.controls(self.maps)

    def listen(self) -> None:
        """Take clicks on the map of weights."""
        over_time.listen(self.maps)

    def first(self) -> None:
        """Draw the state of the chosen head, what is read of it, and how long heads remember."""
        weights, state = st.columns(2, gap="medium")
        with weights:
            over_time.weights(self.maps)
        with state:
            over_time.after(self.maps)
        st.subheader(t("real_models.memory_title"), anchor=False)
        prose.say(t("real_models.memory_look", tokens=count(len(self.maps.run.words))))
        self._half_lives()

    def _half_lives(self) -> None:
        found, tokens = self.view.measured, len(self.maps.run.words)
        every = found.half_life.numpy()
        spread, middle = _spread(np.clip(every, LEAST, MOST)), found.middle.numpy()
        powers = np.log10([min(spread.least.min(), tokens), max(spread.most.max(), tokens)])
        limits = 10.0 ** np.floor(powers[0]), 10.0 ** np.ceil(powers[1] + 0.1)
        title = t("real_models.half_life")
        spread = spread._replace(middle=np.clip(middle, LEAST, MOST))
        options = {"role": "key", "limits": limits, "log": True, "at": tokens}
        most, least = int(middle.argmax()), int(middle.argmin())
        said = {"most": count(most), "longest": _tokens(middle[most])}
        said |= {"least": count(least), "shortest": _tokens(middle[least])}
        alt = t("real_models.alt_memory", heads=self.heads, **said)
        columns = {title: middle} | {f"k{place}": of for place, of in enumerate(every.T)}
        self._show(spread, "memory", (title, alt, columns), **options)

    def _show(
        self,
        spread: Spread,
        chart: str,
        told: tuple[str, str, dict[str, np.ndarray]],
        **options: object,
    ) -> None:
        """Draw a chart of all heads; `told` is its title, alternative text and table's columns."""
        (title, alt, columns), heads = told, range(self.view.config.n_heads)
        axes, chosen = (t("real_models.head"), title), self.maps.head
        fig = partial(figures.head_spread, heads, spread, axes=axes, chosen=chosen, **options)
        table = self.by_head(columns)
        charts.show(fig, f"real:{chart}", alt=alt, data=lambda: table, file=f"{chart}.csv")

    def below(self) -> None:
        """Draw how every head writes, what each word changes, what is cached, the matrices."""
        st.subheader(t("real_models.strength_title"), anchor=False)
        prose.say(t("real_models.strength_look"))
        self._strengths()
        st.subheader(t("maps.state_title_changes"), anchor=False)
        over_time.changes(self.maps)
        prose.say(t("real_models.kept_state", **self.cache_sizes()))
        matrices(self.view)

    def _strengths(self) -> None:
        found = self.view.measured
        spread, title = _spread(found.strength.numpy()), t("real_models.strength")
        most = int(spread.middle.argmax())
        said = {"heads": self.heads, "most": count(most)}
        alt = t("real_models.alt_strength", b=digits(float(spread.middle[most])), **said)
        columns = {title: spread.middle, t("maps.state_bar_put"): found.put.numpy()}
        columns[t("maps.state_bar_erased")] = found.erased.numpy()
        self._show(spread, "strength", (title, alt, columns), role="value", limits=(0, 1))


def _spread(values: np.ndarray) -> Spread:
    """Return each head's lowest tenth, middle and highest tenth [h]."""
    least, middle, most = np.quantile(values, (ENDS[0], 0.5, ENDS[1]), axis=-1)
    return Spread(least, middle, most)
