"""The cost of a page's work, estimated before any of it is done, and the most that is done.

All is counted in operations of a float32 product, of which a core does about 10^11 in a second;
what is slower counts as many as take as long. So the bound is the same on every machine.
"""

from collections.abc import Iterable

from kvcount.refusals import Phrase, RefusedError
from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from ui.sources import Drawn, Source, layers

MOST = 250 * 10**9  # of a page
MOST_IN_CHUNKS = 10**12  # of a page that shows how far it has come, and that any widget stops
MOST_AT_ONCE = 100 * 10**9  # of one decomposition, within which nobody else can go first
DOUBLE = 2  # an operation in float64
DRAWN = 2000  # a weight drawn from a seed
READ = 20  # a weight read, which a few words wait for longer than for the products
EIGENVECTORS = 25  # times n^3, in float64
SINGULAR_VALUES = 25  # times m n^2, in float64


SMALLER_LAYER, FEWER_WORDS = Phrase("smaller_layer"), Phrase("fewer_words")  # what to lower
SHORTER_PROMPT = Phrase("shorter_prompt")


class CostError(RefusedError):
    """Work beyond the bound, refused before it is begun."""


def require(operations: int, lower: Phrase, most: int = MOST) -> None:
    """Refuse work beyond the bound, and say what to lower.

    Raises:
        CostError: with both figures.
    """
    if operations > most:
        raise CostError("work", needed=operations / 1e12, most=most / 1e12, lower=lower)


def drawing(config: AttentionConfig, heads: Iterable[int], source: Source) -> int:
    """Return the operations of drawing these heads' weights; of another source none are drawn."""
    if not isinstance(source, Drawn):
        return 0
    return DRAWN * sum(costs.weight_elements(config, heads).values())


def running(config: AttentionConfig, form: str, tokens: int, heads: Iterable[int]) -> int:
    """Return the operations of a whole sequence in a form, as SYMBOLS names it."""
    name = layers.form_of(config, form).name
    read = READ * sum(costs.weight_elements(config, heads).values())
    return costs.prefill(with_every_key(config), tokens, name, heads=heads).total_flops + read


def with_every_key(config: AttentionConfig) -> AttentionConfig:
    """Return the configuration that a run computes, with every key: a kernel may read fewer."""
    return mechanisms.of(config).costs.with_every_key(config)


def factoring(rows: int, columns: int) -> int:
    """Return the operations of the eigenvectors of a matrix's smaller Gram matrix, in float64.

    Raises:
        CostError: the eigenvectors take too long.
    """
    side = min(rows, columns)
    require(EIGENVECTORS * side**3, SMALLER_LAYER, MOST_AT_ONCE)
    return DOUBLE * 2 * rows * columns * side + EIGENVECTORS * side**3


def singular_values(rows: int, columns: int) -> int:
    """Return the operations of all singular values of a matrix, in float64.

    Raises:
        CostError: they take too long.
    """
    operations = SINGULAR_VALUES * rows * columns * min(rows, columns)
    require(operations, SMALLER_LAYER, MOST_AT_ONCE)
    return operations
