"""The parts of a layer's cache: one statement of how many rows, and of how many numbers."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

GROWTHS = {
    "grows": lambda context, length: context // length,  # one row for every `length` tokens
    "window": lambda context, length: min(context, length),  # the last `length` tokens
    "buffer": lambda context, length: context % length,  # tokens that wait to be pooled
    "once": lambda context, length: int(context >= length),  # from token `length` on
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows of one kind that a layer keeps of a sequence.

    Args:
        name: what a row is, which its type of storage goes by: "key", "value", "latent", "rope",
            "index", "entry", "state", "conv" or "buffer".
        numbers: of one row, over all heads.
        growth: when there is a row, a key of GROWTHS, with its `length` in tokens.
        heads: into how many pieces tensor parallelism can cut a row; 1 is copied to every GPU.
        read_rows: rows that one new token reads at most, None for all; none of a buffer, but all
            of it by the token that completes its block.
        own_block: tokens of a block; a token reads those of its own, unfinished one beside them.
        stored: False where another layer keeps the rows, and this one reads them.
    """

    name: str
    numbers: int
    growth: str = "grows"
    length: int = 1
    heads: int = 1
    read_rows: int | None = None
    own_block: int = 1
    stored: bool = True

    def rows(self, context: int) -> int:
        """Return the rows of a sequence of `context` tokens, kept here or elsewhere."""
        return GROWTHS[self.growth](context, self.length)

    def most_rows(self, context: int) -> int:
        """Return the rows that no sequence of up to `context` tokens exceeds."""
        if self.growth == "buffer":
            return min(context, self.length - 1)
        return self.rows(context)

    def rows_read(self, context: int, queries: int = 1, new: int = 1) -> int:
        """Return the rows of `context` tokens that queries read; each chooses its own.

        Args:
            context: tokens that are there.
            queries: tokens that read.
            new: how many of them are added to those that are there.
        """
        rows = self.rows(context)
        if self.name == "buffer":
            return rows if (context + new) // self.length > context // self.length else 0
        if self.read_rows is None:
            return rows
        own = context % self.own_block if (context + min(new, 1)) % self.own_block else 0
        return min(rows, queries * self.read_rows + own)

    def rows_written(self, context: int, new: int) -> int:
        """Return the rows that so many tokens write after `context` others."""
        after = context + new
        if self.growth == "grows":
            return self.rows(after) - self.rows(context)
        if self.growth == "once":  # it is written anew by each token, or by each whole block
            return int(not self.length or after // self.length > context // self.length)
        return min(new, self.rows(after))

    @property
    def rows_per_token(self) -> Fraction:
        """Rows that each further token adds for good; 0 where they are bounded."""
        return Fraction(1, self.length) if self.growth == "grows" else Fraction(0)

    def rank_numbers(self, ranks: int) -> int:
        """Return the numbers of a row on the fullest of `ranks` GPUs that split the heads."""
        return -(-self.heads // ranks) * (self.numbers // self.heads)

    def rank_rows(self, rows: int, context_ranks: int) -> int:
        """Return how many of so many rows the fullest GPU has of those that rows are dealt to.

        Rows of tokens are dealt in turn; a state, a window and a buffer are whole on each.
        """
        return -(-rows // context_ranks) if self.growth == "grows" else rows


@dataclass(frozen=True)
class Layer:
    """A layer by its kind, a key of `report.KINDS`, and the parts that it keeps or reads."""

    kind: str
    parts: tuple[Part, ...] = ()

    @property
    def growing(self) -> list[Part]:
        """Those that it stores and that grow with every token."""
        return [part for part in self.parts if part.stored and part.growth == "grows"]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model's cache as its config.json says it.

    Args:
        model_type: as config.json has it, of the language model; None where there is no such file.
        layers: in their order; layers that predict further tokens (MTP) are not among them.
        mtp: those, whose cache engines keep where they draft with them; None where config.json
            says that there are some, and not of which kind.
        max_context: tokens that it was made for, None where config.json does not say.
        as_mha: numbers that a layer would keep of a token with a key and a value for each of its
            query heads, 0 where it has none.
        n_heads: query heads of a layer, 0 where it has none.
        n_index_heads: query heads of an indexer, 0 where there is none or it is not said.
        mixture: whether layers choose among experts, so that a token uses few of the parameters;
            None where nothing is said of experts.
        experts: how many a token uses in a layer that chooses among them, and of how many; None
            where that is not said or differs.
        attention: parameters of each layer's attention, as far as they are told (weighing.py).
        expert_layers: numbers of those layers that choose among experts, if there are any.
        table: parameters of the embedding, and as many of the head, 0 where they are not told.
        tied: whether both are one matrix.
        caches_each: how many of `layers` are one layer of the model (LongCat-Flash has two).
    """

    model_type: str | None
    layers: tuple[Layer, ...]
    max_context: int | None
    mtp: tuple[Layer, ...] | None = ()
    as_mha: int = 0
    n_heads: int = 0
    n_index_heads: int = 0
    mixture: bool | None = None
    experts: tuple[int, int] | None = None
    attention: tuple[int, ...] = ()
    expert_layers: tuple[int, ...] = ()
    table: int = 0
    tied: bool = False
    caches_each: int = 1

    @property
    def attention_parameters(self) -> int:
        """Parameters of all layers' attention, as far as they are told."""
        return sum(self.attention)

    @property
    def drafting(self) -> "Model":
        """The same with the layers that predict further tokens; their weights are not told."""
        return replace(self, layers=(*self.layers, *(self.mtp or ())), mtp=())

    @cached_property
    def groups(self) -> Counter[Layer]:
        """The layers that keep the same, and how many they are, in the order of the first."""
        return Counter(self.layers)
