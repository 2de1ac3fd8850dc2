"""What the absorption page shows: the reader's bracket, its counts, and the words beside them."""

from dataclasses import dataclass

import pandas as pd

from mla_engine import LatentConfig
from mla_engine.figures import Block, symbol_html
from mla_engine.studies.bracketing import FORMS, Bracketing, Matrix, bracketings
from mla_engine.symbols import SYMBOLS
from ui.engine import model
from ui.engine.real_layer import Origin
from ui.pages.absorption import run
from ui.parts.maps.run import block_of_heads
from ui.settings import state
from ui.settings.page import Note
from ui.words.numbers import count, digits, times
from ui.words.text import t

CONTEXTS = tuple(2**n for n in range(4, 21))
QUERIES = tuple(2**n for n in range(13))
GAINS = (0.25, 0.5, 1.0, 2.0, 4.0)
BF16_BYTES = 2
MOST_HEADS = 4  # that are run: enough to see, and quick at DeepSeek-V3's sizes
FORMULAS = {
    ("scores", "absorbed"): r"\left(q^C\,W^{UK}\right)\,{c^{KV}}^{\top}",
    ("scores", "expanded"): r"q^C\,\left(W^{UK}\,{c^{KV}}^{\top}\right)",
    ("output", "absorbed"): r"\left(a\,c^{KV}\right)\,{W^{UV}}^{\top}",
    ("output", "expanded"): r"a\,\left(c^{KV}\,{W^{UV}}^{\top}\right)",
}
PLAIN = {
    ("scores", "absorbed"): "(q<sup>C</sup> W<sup>UK</sup>) c<sup>KV</sup>",
    ("scores", "expanded"): "q<sup>C</sup> (W<sup>UK</sup> c<sup>KV</sup>)",
    ("output", "absorbed"): "(a c<sup>KV</sup>) W<sup>UV</sup>",
    ("output", "expanded"): "a (c<sup>KV</sup> W<sup>UV</sup>)",
}


def amount(value: float) -> str:
    """A large count in thousands, millions ...: 4.19 M; the same digits whatever the size."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{digits(value / size)}\N{NO-BREAK SPACE}{unit}"
    return count(value)


@dataclass(frozen=True)
class View:
    """The present settings' layer and the reader's choices."""

    config: LatentConfig
    origin: Origin
    head: int
    heads: tuple[int, ...]
    words: tuple[str, ...]
    side: str
    form: str
    queries: int
    context: int

    @property
    def orders(self) -> dict[str, Bracketing]:
        """Both bracketings, by form."""
        keys = self.context + self.queries
        return bracketings(self.config, self.side, queries=self.queries, keys=keys)

    @property
    def chosen(self) -> Bracketing:
        """The bracketing that the reader set."""
        return self.orders[self.form]

    def title(self) -> str:
        """The statement on top, with both counts."""
        work = {form: sum(order.multiply_adds) for form, order in self.orders.items()}
        return t("absorption.title", **{form: amount(n) for form, n in work.items()})

    def verdict(self) -> str:
        """Which order takes less, and by how much, at these lengths."""
        work = {form: sum(order.multiply_adds) for form, order in self.orders.items()}
        less, more = sorted(FORMS, key=work.get)
        return t(
            f"absorption.less_{less}",
            ratio=times(work[more] / work[less]),
            queries=count(self.queries),
            context=count(self.context),
        )

    def blocks(self) -> tuple[list[Block], Block, Block]:
        """The picture's boxes: factors, what the bracket makes, the result."""
        order = self.chosen
        return [block(m) for m in order.factors], block(order.inner), block(order.result)

    def steps(self) -> tuple[str, str]:
        """What each of the two products costs, all heads together."""
        heads = count(self.config.n_heads)
        return tuple(
            t("absorption.step", adds=amount(adds), heads=heads)
            for adds in self.chosen.multiply_adds
        )

    def counts(self) -> pd.DataFrame:
        """Every number of both orders, in codes."""
        rows = [
            {
                "product": self.side,
                "order": form,
                "new_tokens": self.queries,
                "cached_tokens": self.context,
                "heads": self.config.n_heads,
                "bracket_makes": order.inner.code,
                "bracket_elements": order.inner.elements,
                "bracket_multiply_adds": order.multiply_adds[0],
                "then_multiply_adds": order.multiply_adds[1],
                "factor_bytes": order.moved_bytes(BF16_BYTES)[0],
                "bracket_bytes": order.moved_bytes(BF16_BYTES)[1],
                "result_bytes": order.moved_bytes(BF16_BYTES)[2],
            }
            for form, order in self.orders.items()
        ]
        return pd.DataFrame(rows)


def block(matrix: Matrix) -> Block:
    """A matrix as the picture draws it, turned so that it fits the product."""
    label = "a" if matrix.code == "attention" else symbol_html(matrix.code)
    return Block(label, matrix.rows, matrix.columns, SYMBOLS[matrix.code].role)


def mend() -> list[Note]:
    """Bring the head to the nearest that there is."""
    return state.at_most(ab_head=model.sizes()["n_heads"] - 1)


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    s = state.settings()
    config = model.config("mla")
    words = model.words()
    return View(
        config=config,
        origin=model.origin(config),
        head=s["ab_head"],
        heads=block_of_heads(config, len(words), s["ab_head"], MOST_HEADS),
        words=words,
        side=s["ab_side"],
        form=s["ab_order"],
        queries=s["ab_queries"],
        context=s["ab_context"],
    )


def look() -> str:
    """What to look at, tensors in their colours."""
    return t(f"absorption.look_{state.settings()['ab_side']}")


def order_label(form: str) -> str:
    """The formula of an order for the present product, as its button shows it."""
    formula = FORMULAS[state.settings()["ab_side"], form]
    return f"{t(f'absorption.bracket_{form}')} ${formula}$"


def entries_table(view: View) -> pd.DataFrame:
    """Entries of merged matrices and of factors, all heads of a layer, as text."""
    rows = {}
    for name, (merged, factors) in run.entries(view.config).items():
        label = t(f"absorption.entries_{name}")
        rows[label] = (million(merged), million(factors), times(merged / factors))
    columns = [t(f"absorption.column_{name}") for name in ("merged", "factors", "ratio")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def million(value: float) -> str:
    """Entries as the papers count them: 100.7 M."""
    return f"{value / 1e6:,.1f} M" if value >= 1e5 else count(value)


def percent(error: float) -> str:
    """A relative error as a percentage; what is rounding as a power of ten."""
    return f"{digits(100 * error)} %" if error > 1e-3 else f"{error:.0e}"
