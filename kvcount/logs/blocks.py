"""vLLM's pool of blocks: how many tokens it says that a size of memory holds.

All layers of a model share one pool where they keep rows of all tokens. Layers with windows or
states are put into groups of equally many layers; each group takes blocks of its own from the pool,
and every block has the same bytes. The token count of older versions deals the blocks to all groups
alike; newer ones say how many sequences of the full length fit, times that length
(vllm/v1/core/kv_cache_utils.py).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, gcd

from kvcount.counting import bytes_per_token
from kvcount.dtypes import Storage
from kvcount.logs.engine_log import Logged
from kvcount.parts import Layer, Model

FULL, WINDOW, STATE = "full", "window", "state"
CSA, HCA = "csa", "hca"  # of DeepSeek-V4: tokens that wait to be pooled, kept as windows
BASE = 16  # tokens of a block where nothing else is said
ALIGNED = {"latent": 64}  # multiples that attention's kernels need beside states, else BASE
LARGEST = 128  # tokens of a block that no log names
NEARLY = 1.5  # so many times the fewest layers of a kind and no more: all groups have the most


def of_kind(layer: Layer) -> str | None:
    """Return FULL, WINDOW or STATE; "" of a layer that keeps nothing, None of a mixed one."""
    growths = {part.growth for part in layer.parts if part.stored}
    names = {("grows",): FULL, ("window",): WINDOW, ("once",): STATE, (): ""}
    if any(part.length > 1 for part in layer.parts if part.growth == "grows"):
        return None  # pooled entries
    return names.get(tuple(growths)) if len(growths) < 2 else None


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Equal blocks and the groups of layers that take them.

    Args:
        layers: of a group; padding: those that are added so that all groups have as many.
        page: bytes of a layer in a block; tokens: of such a block, by kind of layer.
        groups: kind -> how many, each with layers of one kind.
        windows: kind -> tokens that a layer of it keeps, of those that do not keep all.
        layout: how groups of unlike layers share a block, where there is a choice.
    """

    layers: int
    page: Fraction
    tokens: Mapping[str, int]
    groups: Mapping[str, int]
    padding: int = 0
    windows: Mapping[str, int] = field(default_factory=dict)
    layout: str = ""

    @property
    def block(self) -> int:
        """The tokens of a block of full attention."""
        return self.tokens[FULL]

    @property
    def least(self) -> int:
        """The tokens of the shortest block."""
        return min(self.tokens.values())

    @property
    def block_bytes(self) -> Fraction:
        """The bytes of a block over the layers of its group."""
        return self.layers * self.page

    def blocks(self, n_bytes: Fraction) -> int:
        """Return the blocks that fit into so many bytes."""
        return int(n_bytes // self.block_bytes)

    def needs(self, log: Logged, length: int) -> dict[str, int]:
        """Return the blocks of one sequence of so many tokens, by kind of the groups.

        Of a window the tokens of a step are in blocks as well, until the step has ended.
        """
        each = {
            FULL: ceil(Fraction(length, self.block * (log.context or 1))),
            STATE: 2 if log.caching else 1,
        }
        for kind, window in self.windows.items():
            rows = min(window - 1 + (log.batched or 0), length)
            each[kind] = ceil(Fraction(rows, self.tokens[kind])) + 1
        return {kind: n * each[kind] for kind, n in self.groups.items()}

    def holds(self, blocks: int, log: Logged) -> int:
        """Return the tokens of the longest text that so many blocks hold, 0 where not even one."""
        shortest, longest = 0, blocks * self.block * (log.context or 1)
        while shortest < longest:
            middle = (shortest + longest + 1) // 2
            if sum(self.needs(log, middle).values()) <= blocks:
                shortest = middle
            else:
                longest = middle - 1
        return shortest

    def fits(self, least: Fraction, most: Fraction, log: Logged) -> bool:
        """Tell if some whole number of blocks, of so many bytes, gives the log's tokens."""
        fewest, often = self.blocks(least), sum(self.groups.values())
        if not by_sequences(log) or often == 1:
            dealt, started = divmod(log.tokens or 0, self.least * (log.context or 1))
            if not started and fewest // often <= dealt <= self.blocks(most) // often:
                return True
        if not by_sequences(log):
            return False
        needs = sum(self.needs(log, log.length).values())
        blocks = ceil(Fraction(log.tokens * needs, log.length))
        whole = fewest <= blocks <= self.blocks(most)
        return whole and int(Fraction(blocks, needs) * log.length) == log.tokens

    def fits_needed(self, least: Fraction, most: Fraction, log: Logged) -> bool:
        """Tell if one sequence of the log's needed tokens takes so many bytes."""
        blocks = sum(self.needs(log, log.needed_tokens or 1).values())
        return least <= blocks * self.block_bytes <= most

    def of_both(self, log: Logged) -> int | None:
        """Return the blocks that give the log's tokens and its concurrency, None without these.

        None as well where all layers are of one group, or the tokens are those of the sequences:
        then both numbers say the same.
        """
        often = sum(self.groups.values())
        if by_sequences(log) or often == 1 or not (log.tokens and log.concurrency and log.length):
            return None
        dealt, started = divmod(log.tokens, self.least * (log.context or 1))
        needs = sum(self.needs(log, log.length).values())
        found = (
            blocks
            for blocks in range(dealt * often, (dealt + 1) * often)
            if abs(blocks / needs - log.concurrency) <= DIGITS
        )
        return None if started else next(found, None)


DIGITS = 0.0051  # that a concurrency of two decimals is off by


def by_sequences(log: Logged) -> bool:
    """Tell if a log's tokens are its concurrency times the length, as in newer versions."""
    if not (log.concurrency and log.length and log.tokens):
        return False
    return abs(log.tokens / log.length - log.concurrency) <= DIGITS


def pool(model: Model, storage: Storage, log: Logged) -> Pool | None:
    """Return the pool of a model on one rank; None where its groups are not known here."""
    kinds = Counter[str]()
    for layer, n in model.groups.items():
        if (kind := of_kind(layer)) is None:
            return None
        kinds[FULL if kind == WINDOW and log.alike else kind] += n
    del kinds[""]
    if set(kinds) == {FULL}:
        return _alike(model, storage, log)
    if STATE in kinds and (WINDOW in kinds or log.speculative):
        return None
    rows = _row_bytes(model, storage, log)
    if FULL not in kinds or any(len(each) > 1 for each in rows.values()):
        return None
    each = {kind: sizes.pop() for kind, sizes in rows.items()}
    return _grouped(kinds, model, log, each)


def _alike(model: Model, storage: Storage, log: Logged) -> Pool:
    """Return one group of all layers, in blocks as the log has them or as its tokens divide."""
    block = log.block_size or BASE
    if not (log.block_size or log.blocks):
        block = largest_block((log.tokens or 0) // (log.context or 1))
    each = sum(n * row_bytes(layer, storage, log.ranks) for layer, n in model.groups.items())
    return Pool(layers=1, page=block * each, tokens={FULL: block}, groups={FULL: 1})


def largest_block(tokens: int) -> int:
    """Return the largest block, a power of two, of which so many tokens can be a multiple."""
    return gcd(tokens, LARGEST)


def row_bytes(layer: Layer, storage: Storage, ranks: int) -> Fraction:
    """Return the bytes of a token in a layer on one rank, in a window as outside of one."""
    rows = [part for part in layer.parts if part.stored and part.growth == "window"]
    of_window = sum((storage.row_bytes(layer.kind, part, ranks) for part in rows), Fraction(0))
    return bytes_per_token(layer, storage, ranks) + of_window


def _row_bytes(model: Model, storage: Storage, log: Logged) -> dict[str, set[Fraction]]:
    """Return the sizes of rows, and of states, of each kind of layer."""
    found: dict[str, set[Fraction]] = {}
    for layer in model.groups:
        kind = of_kind(layer)
        if kind == STATE:
            parts = (storage.row_bytes(layer.kind, part, log.ranks) for part in layer.parts)
            found.setdefault(STATE, set()).add(sum(parts, Fraction(0)))
        elif kind:
            found.setdefault(kind, set()).add(row_bytes(layer, storage, log.ranks))
    return found


def _grouped(
    kinds: Counter[str], model: Model, log: Logged, row: Mapping[str, Fraction]
) -> Pool | None:
    """Return groups of equally many layers, in blocks of the bytes of the widest row."""
    fewest, most = min(kinds.values()), max(kinds.values())
    layers = most if most < NEARLY * fewest else fewest
    groups = {kind: ceil(Fraction(n, layers)) for kind, n in kinds.items()}
    padding = layers * sum(groups.values()) - sum(kinds.values())
    shape = {"layers": layers, "groups": groups, "padding": padding}
    if STATE in kinds:
        latents = next(layer.kind for layer in model.groups if of_kind(layer) == FULL)
        multiple = ALIGNED.get(latents, BASE)
        block = log.block_size or multiple * ceil(row[STATE] / (multiple * row[FULL]))
        return Pool(page=block * row[FULL], tokens={FULL: block}, **shape)
    base = log.block_size or BASE
    page = base * max(row.values())
    if any(page % one for one in row.values()):
        return None
    tokens = {kind: int(page / one) for kind, one in row.items()}
    lengths = {part.length for layer in model.groups for part in layer.parts} - {1}
    return Pool(page=page, tokens=tokens, windows={WINDOW: max(lengths)}, **shape)
