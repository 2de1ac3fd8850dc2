"""The base of every attention layer: heads, arguments, the memory budget."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor, nn

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError, instance_of
from mla_engine import budget, estimate
from mla_engine.cache import DTYPES, Cache
from mla_engine.config import AttentionConfig, LongRopeScaling
from mla_engine.trace import Trace
from mla_engine.weights import Weights

WHOLE_NUMBERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
Places = slice | list[int]


def places(chosen: Sequence[int], among: Sequence[int]) -> Places:
    """Return an index of the chosen among others: a slice makes views, a list copies."""
    found = [among.index(one) for one in chosen]
    run = range(found[0], found[0] + len(found))
    return slice(run.start, run.stop) if found == list(run) else found


def chosen_heads(heads: Iterable[int], among: Sequence[int], n_heads: int) -> tuple[int, ...]:
    """Return the heads as a tuple, or ValueError for none, a repeated or an absent one."""
    if isinstance(heads, str) or not isinstance(heads, Iterable):
        raise RefusedError("kind", name="heads", value=heads, wanted=Phrase("head_numbers"))
    heads = tuple(heads)
    if not heads:
        raise RefusedError("no_heads")
    for head in heads:
        checks.whole("heads", head, least=0)
        if head not in among:
            if len(among) < n_heads:
                built = list(among)[:8]
                raise RefusedError("head_not_built", head=head, last=n_heads - 1, built=built)
            raise RefusedError("no_head", head=head, last=n_heads - 1)
    if len(set(heads)) < len(heads):
        raise RefusedError("head_twice", heads=list(heads))
    return heads


def query_rows(queries: slice | None, n_tokens: int) -> slice:
    """Return `queries` as a slice that chooses at least one of `n_tokens` rows."""
    if queries is None:
        return slice(None)
    checks.kind("queries", queries, slice, Phrase("a_slice"))
    for part in (queries.start, queries.stop, queries.step):
        if part is not None and not isinstance(part, int):
            raise RefusedError("query_part", queries=queries, part=part)
    if queries.step is not None and queries.step < 1:
        raise RefusedError("query_step", queries=queries)
    if not range(n_tokens)[queries]:
        raise RefusedError("no_query", queries=queries, rows=n_tokens)
    return queries


def position_numbers(positions: Tensor | Sequence[int] | None, h: Tensor, start: int = 0) -> Tensor:
    """Return positions as int64 [t] or [b,t] on the CPU; by default they count from `start`."""
    batch, tokens = h.shape[:2]
    if positions is None:
        return torch.arange(start, start + tokens)
    try:
        positions = torch.as_tensor(positions, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        wanted = Phrase("whole_numbers")
        raise RefusedError("kind", name="positions", value=positions, wanted=wanted) from error
    if positions.dtype not in WHOLE_NUMBERS:
        raise RefusedError("position_dtype", dtype=positions.dtype)
    if positions.shape not in {(tokens,), (batch, tokens)}:
        raise RefusedError(
            "position_shape", shape=list(positions.shape), tokens=tokens, batch=batch
        )
    if not torch.compiler.is_compiling() and positions.min() < 0:
        raise RefusedError("position_below", position=int(positions.min()))
    return positions.long()


CONSTRUCTION_TIP = Phrase("fewer_weights")
CALL_TIP = Phrase("a_smaller_call")


class AttentionLayer(nn.Module, ABC):
    """Base of every layer: `heads` of the configuration, built and called by global index."""

    config_type: type
    W_O: nn.Parameter  # every layer has one; all weights are of its type, and where it is

    def __init__(
        self,
        config: AttentionConfig,
        seed: int = 0,
        heads: Iterable[int] | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """Build the weights of `heads` (all by default), drawn from `seed`.

        Raises:
            ValueError: a config of another kind, an unknown head, dtype or device.
            MemoryBudgetError: the weights are beyond the budget.
        """
        super().__init__()
        if type(config) is not self.config_type:  # one that extends it would lose what it adds
            wanted = instance_of(self.config_type)
            raise RefusedError("kind", name="config", value=config, wanted=wanted)
        checks.whole("seed", seed, least=0, most=2**63)
        checks.choice("dtype", dtype, DTYPES)
        self.config, self.seed = config, seed
        device = _usable(device)
        built = range(config.n_heads)
        self.heads = tuple(built) if heads is None else chosen_heads(heads, built, config.n_heads)
        if device.type != "meta":
            meta = {"heads": self.heads, "dtype": dtype, "device": "meta"}
            needed = budget.peak_bytes(lambda: type(self)(config, **meta))
            sizes = {"built": len(self.heads), "n_heads": config.n_heads}
            what = Phrase("layer_of_heads", layer=type(self).__name__, **sizes)
            budget.require(needed, what, CONSTRUCTION_TIP)
        self._build(Weights(seed, dtype, device))

    @classmethod
    def of_weights(
        cls,
        config: AttentionConfig,
        weights: Mapping[str, Tensor],
        heads: Iterable[int] | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Self:
        """Build the layer of `heads` with given weights, by parameter name; none is drawn.

        Raises:
            ValueError: as the constructor; a weight that is missing, too many or of another shape.
        """
        layer = cls(config, heads=heads, dtype=dtype, device="meta")
        shapes = {name: list(p.shape) for name, p in layer.named_parameters()}
        given = {name: list(weight.shape) for name, weight in weights.items()}
        for name in shapes | given:
            if shapes.get(name) != given.get(name):
                wanted, got = (
                    shapes.get(name, Phrase("no_weight")),
                    given.get(name, Phrase("nothing")),
                )
                raise RefusedError("weight_shape", name=name, wanted=wanted, given=got)
        device = _usable(device)
        for name, weight in weights.items():
            placed = weight.detach().to(device, dtype)
            setattr(layer, name, nn.Parameter(placed, requires_grad=False))
        return layer

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights as they are now."""
        return self.W_O.dtype

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.W_O.device

    @abstractmethod
    def _build(self, weights: Weights) -> None:
        """Make the parameters."""

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """The KV heads that these heads use, in order of first use: here each its own."""
        return self.heads

    @property
    def output_groups(self) -> tuple[int, ...]:
        """The groups of heads that these belong to, in order, where outputs go through groups."""
        return ()

    def empty_cache(self, of: type[Cache], batch: int = 1, capacity: int | None = None) -> Cache:
        """Return a cache of this type for the heads that the layer has, in its dtype, where it is.

        Raises:
            ValueError, MemoryBudgetError: as the cache itself.
        """
        heads = {"n_kv_heads": len(self.kv_heads)} if of.per_head else {}
        return of.empty(self.config, batch, self.dtype, self.device, capacity, **heads)

    def _run(self, formulas: Callable, *args: object) -> object:
        """Run formulas(layer, *args) if it fits the memory budget; on meta nothing is held.

        A cache among the arguments is one that h, the first of them, is appended to. A graph that
        torch compiles or exports is of only the formulas.
        """
        if torch.compiler.is_compiling() or self.device.type == "meta":
            return formulas(self, *args)
        needed = estimate.peak_bytes(self, formulas, args)
        budget.require(needed, f"{type(self).__name__} {formulas.__name__}", CALL_TIP)
        return formulas(self, *args)

    def _step(
        self, formulas: Callable, h: Tensor, cache: Cache, positions: Tensor, *more: object
    ) -> tuple[Trace, Cache]:
        """Run the tokens that follow those of a cache, which gets longer by them."""
        factors = self._factors(cache, positions)
        trace, longer = self._run(formulas, h, cache, positions, *more)
        return trace, longer if factors is None else replace(longer, factors=factors)

    def _factors(self, cache: Cache, positions: Tensor) -> str | None:
        """Name LongRoPE's set of factors for these positions; refuse keys of the other set."""
        scaling = self.config.rotation and self.config.rotation.scaling
        if not isinstance(scaling, LongRopeScaling) or torch.compiler.is_compiling():
            return None  # a graph that is compiled has shapes, and no positions to look at
        position = int(positions.max())
        needed, held = scaling.factors(position + 1), cache.factors
        if cache.length and held not in (None, needed):
            values = {"position": position, "limit": scaling.original_max_position}
            raise RefusedError("longrope", held=held, needed=needed, **values)
        return needed

    def _local(self, heads: Iterable[int] | None) -> Places:
        """Return the places of the chosen heads among those built."""
        if heads is None:
            return slice(None)
        chosen = chosen_heads(heads, self.heads, self.config.n_heads)
        return places(chosen, among=self.heads)

    def _global(self, local: Places) -> tuple[int, ...]:
        """Return the head numbers at these places."""
        return (
            self.heads[local] if isinstance(local, slice) else tuple(self.heads[i] for i in local)
        )

    def _check_hidden(self, h: Tensor) -> None:
        checks.kind("h", h, Tensor, Phrase("hidden_states"))
        shape, d_model = list(h.shape), self.config.d_model
        if h.ndim != 3 or h.shape[-1] != d_model or 0 in shape:
            raise RefusedError("h_shape", shape=shape, d_model=d_model)
        if h.dtype != self.dtype:
            raise RefusedError("h_dtype", given=h.dtype, held=self.dtype)
        if h.device.type != self.device.type:
            raise RefusedError("h_device", given=h.device, held=self.device)

    def _check_cache(self, cache: Cache, h: Tensor) -> None:
        if cache.config is not self.config and cache.config != self.config:
            raise RefusedError("other_config", given=cache.config, held=self.config)
        n_kv_heads = len(self.kv_heads) if cache.per_head else None
        names = "batch", "dtype", "device", "n_kv_heads"
        held = cache.batch, cache.dtype, cache.device.type, cache.n_kv_heads
        needed = h.shape[0], self.dtype, self.device.type, n_kv_heads
        for name, one, other in zip(names, held, needed, strict=True):
            if one != other:
                raise RefusedError("other_cache", name=name, held=one, needed=other)


def _usable(device: torch.device | str) -> torch.device:
    try:
        device = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise RefusedError("no_device", device=device) from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise RefusedError("absent_device", device=device)
    return device
