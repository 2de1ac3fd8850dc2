"""Why an engine prints another number of tokens: the bytes of a token, ours and its, term by term.

Each term is counted from the model and what the log says of parallelism, never from the gap. What
the digits of the log and whole blocks allow is called so; what is left beyond that has no name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from kvcount.dtypes import Storage
from kvcount.logs import pooled_blocks
from kvcount.logs.blocks import FULL, Pool, by_sequences, largest_block, pool
from kvcount.logs.engine_log import LLAMA, SGLANG, Logged, Memory
from kvcount.logs.terms import Term, counted, grouping, over_ranks, windows
from kvcount.parts import Model
from kvcount.planning.pipeline import parted

BATCHED = (8192, 16384, 2048)  # vLLM's defaults: a server's, of LLM(...), of a small GPU
DRAFTED = ("mtp", "deepseek_mtp", "nextn")  # methods of vLLM with a layer of the model's own


@dataclass(frozen=True, kw_only=True)
class Request:
    """The bytes that one request takes of a pool, and those of the pool.

    Args:
        fixed: at most, however long the text is; each: a token more; pool: all blocks together.
        longest: tokens of the longest text alone, 0 where not even one fits.
        requests: at once, of up to `short` tokens each.
    """

    fixed: Fraction
    each: Fraction
    pool: Fraction
    longest: int
    requests: int
    short: int


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """A log beside a model.

    Args:
        model: what its layers keep; storage: in which types; log: what the engine said.
    """

    model: Model
    storage: Storage
    log: Logged

    @cached_property
    def counted(self) -> list[Term]:
        """The rows of a token over all layers of the whole model, by kind."""
        return counted(self.model, self.storage)

    @property
    def counted_bytes(self) -> Fraction:
        """Their sum."""
        return sum((term.n_bytes for term in self.counted), Fraction(0))

    @property
    def pool(self) -> Pool | None:
        """vLLM's blocks, None where its groups are not known here or the engine has none."""
        return self._pool_and_log[0]

    @property
    def batched(self) -> int | None:
        """The tokens of a step, where the log does not say and a default of vLLM's is taken."""
        return None if self.log.batched is not None else self._pool_and_log[1].batched

    @cached_property
    def _pool_and_log(self) -> tuple[Pool | None, Logged]:
        """The pool, and the log with a default of vLLM's where it leaves out the tokens of a step.

        They matter where layers have windows. Of the defaults, and of DeepSeek-V4's layouts, the
        first with which the log comes out.
        """
        log = self.log
        if log.engine in (SGLANG, LLAMA) or (log.pipeline or 1) > 1:
            return None, log
        served = self._served(self.model)
        pools = pooled_blocks.pools(served, self.storage)
        if pools and not (self._needs or by_sequences(log)):
            return None, log
        pools = pools or [pool(served, self.storage, log)]
        windows = any(one is not None and one.windows for one in pools)
        steps = BATCHED if windows and log.batched is None else [log.batched]
        options = [(one, replace(log, batched=step)) for one in pools for step in steps]
        told = options if self.said and len(options) > 1 else []
        return next((option for option in told if self._comes_out(*option)), options[0])

    @property
    def memory(self) -> Memory | None:
        """The size that the log gives: of the cache, or else of the sequence that does not fit.

        Where it gives none, its two numbers may.
        """
        if self.said is None and self.both is not None:
            return Memory(self.both * self.pool.block_bytes)
        return self.said

    @property
    def said(self) -> Memory | None:
        """The size itself, as the log has it."""
        return self.log.needed if self._needs else self.log.memory

    @cached_property
    def both(self) -> int | None:
        """The blocks of vLLM from which both numbers of the log come.

        Its tokens deal blocks to all groups alike, its concurrency is of the sequences that fit.
        """
        return self.pool.of_both(self.log) if self.pool else None

    @property
    def tokens(self) -> int | None:
        """The tokens that the log gives for it."""
        if self._needs:
            return self.log.needed_tokens
        if self.log.tokens is not None or self.log.blocks is None:
            return self.log.tokens
        return self.log.blocks * self.block_size

    @property
    def _needs(self) -> bool:
        """Tell if vLLM refused to start, and said what one sequence would need."""
        return self.log.needed is not None and self.log.tokens is None and self.log.blocks is None

    @property
    def block_size(self) -> int:
        """Tokens of a block of full attention, or of a page."""
        if self.pool:
            return self.pool.block
        return self.log.block_size or largest_block(self.log.tokens or 0)

    @cached_property
    def request(self) -> Request | None:
        """Return the bytes of a request in vLLM's pool; None if all of them grow with the text.

        None as well where the log does not say how large the pool is, or does not come out.
        """
        blocks, log = self._pool_and_log
        if self.rest is None or self.rest.key != "rounding":
            return None
        n_bytes = log.memory or (self.memory if self.both is not None else None)
        if not blocks or len(blocks.groups) == 1 or not n_bytes or n_bytes.n_bytes <= 0:
            return None
        n_blocks, context = blocks.blocks(n_bytes.n_bytes), log.context or 1
        longest = blocks.holds(n_blocks, log)
        needs = blocks.needs(log, log.length or log.needed_tokens or max(longest, 1))
        short = blocks.block * context
        return Request(
            fixed=blocks.block_bytes * sum(n for kind, n in needs.items() if kind != FULL),
            each=blocks.block_bytes * blocks.groups[FULL] / short,
            pool=n_blocks * blocks.block_bytes,
            longest=longest,
            requests=n_blocks // sum(blocks.needs(log, short).values()),
            short=short,
        )

    @property
    def implied(self) -> Fraction | None:
        """Bytes of a token on one GPU as the log has them; None where it does not say enough."""
        if self.memory is None or not self.tokens or self.memory.n_bytes <= 0:
            return None
        return self.memory.n_bytes / self.tokens

    @cached_property
    def terms(self) -> list[Term]:
        """The terms between the counted bytes and those of the log, without the rest."""
        return [term for term in self._terms() if term.n_bytes]

    @cached_property
    def rest(self) -> Term | None:
        """The rest: within whole blocks and the log's digits, or not explained."""
        if self.implied is None:
            return None
        left = self.implied - self.counted_bytes - sum(term.n_bytes for term in self.terms)
        if self._fits and abs(left) * self.tokens <= self._rounded:
            return Term("rounding", left, {"block": self.block_size})
        return Term("unexplained", left)

    @property
    def share(self) -> float | None:
        """The share of the log's bytes that is explained, from 0 to 1."""
        if self.rest is None:
            return None
        if self.rest.key == "rounding":
            return 1.0
        return max(0.0, float(1 - abs(self.rest.n_bytes) / self.implied))

    @property
    def _fits(self) -> bool:
        """Tell if the log's tokens come out, its digits being off by no more than they can."""
        least, most = _within(self.memory)
        blocks, log = self._pool_and_log
        if blocks and (blocks.layout or not self._needs):
            return self._comes_out(blocks, log)
        each = self.counted_bytes + sum(term.n_bytes for term in self.terms)
        return least <= (self.tokens + self.block_size) * each and self.tokens * each <= most

    @property
    def _rounded(self) -> Fraction:
        """Return the bytes that whole blocks, whole tokens and the log's digits can hide."""
        blocks = self.pool
        each = sum(blocks.groups.values()) + 1 if blocks else 0
        in_blocks = each * blocks.block_bytes if blocks else self.block_size * self.implied
        return in_blocks + self.memory.off_by + self.implied

    def _comes_out(self, blocks: Pool, log: Logged) -> bool:
        """Tell if the log's tokens, or the size that it needs, come out with these blocks."""
        if self._needs:
            return blocks.fits_needed(*_within(log.needed), log)
        memory = self.said or Memory(self.both * blocks.block_bytes)
        return blocks.fits(*_within(memory), replace(log, tokens=self.tokens))

    def _served(self, model: Model) -> Model:
        """Return a model with its layers that predict further tokens, where vLLM drafts by them."""
        drafts = self.log.engine != SGLANG and self.log.speculative in DRAFTED
        return model.drafting if drafts else model

    def _terms(self) -> Iterator[Term]:
        yield from over_ranks(self.model, self.storage, self.log.ranks)
        each, served = self._rank_bytes(self.model), self._served(self.model)
        added = len(served.layers) - len(self.model.layers)
        yield Term("drafting", self._rank_bytes(served) - each, {"layers": added})
        each = self._rank_bytes(served)
        if (stages := self.log.pipeline or 1) > 1:
            parts = [self._served(part) for part in parted(self.model, stages)]
            fullest = max(parts, key=lambda part: self._rank_bytes(part) + self._windows(part))
            layers = {"layers": len(fullest.layers), "all": len(served.layers)}
            yield Term("pipeline", self._rank_bytes(fullest) - each, {"stages": stages} | layers)
            served, each = fullest, self._rank_bytes(fullest)
        if (context := self.log.context or 1) > 1:
            yield Term("context", -each * (1 - Fraction(1, context)), {"ranks": context})
        if self.log.engine in (SGLANG, LLAMA):
            yield from self._of_pools(served)
        elif self.pool:
            yield from grouping(self.pool, served, self.storage, self._pool_and_log[1])

    def _rank_bytes(self, model: Model) -> Fraction:
        """Return the bytes of a token in the layers that keep every one, on one rank."""
        each = counted(model, self.storage, self.log.ranks)
        return sum((term.n_bytes for term in each), Fraction(0))

    def _windows(self, model: Model) -> Fraction:
        """Return the bytes of a token in the pool of windows, 0 where none is known of."""
        if self.log.engine not in (SGLANG, LLAMA) or not self.tokens:
            return Fraction(0)
        _, each = windows(model, self.storage, self.log.ranks)
        return each * Fraction(self.log.window_tokens or self.tokens, self.tokens)

    def _of_pools(self, model: Model) -> Iterator[Term]:
        """The pool of windows, and index keys that older versions of SGLang leave out of a size."""
        layers, _ = windows(model, self.storage, self.log.ranks)
        values = {"layers": layers, "tokens": self.log.window_tokens or self.tokens}
        yield Term("windows_pool", self._windows(model), values)
        index = sum(
            term.n_bytes
            for term in counted(model, self.storage, self.log.ranks)
            if term.key == "index"
        )
        if index and self.implied and not layers:
            without = (self._rank_bytes(model) - index) * self.tokens
            if abs(without - self.memory.n_bytes) <= self.memory.off_by + self.block_size * index:
                yield Term("index_left_out", -Fraction(index))


def _within(memory: Memory) -> tuple[Fraction, Fraction]:
    """Return the fewest and the most bytes that the digits of a size allow."""
    return memory.n_bytes - memory.off_by, memory.n_bytes + memory.off_by
