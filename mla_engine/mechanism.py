"""What an attention mechanism declares about itself, for costs, presets, glossary and pages.

Its package holds a module `mechanism` with its MECHANISM, which the registry `mechanisms` finds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from mla_engine import checks
from mla_engine.cache import Cache
from mla_engine.config import AttentionConfig
from mla_engine.late import Late
from mla_engine.layer import AttentionLayer
from mla_engine.refusals import Phrase
from mla_engine.trace import Trace

registry = Late("mla_engine.mechanisms")  # which imports this module

COMMON_SIZES = ("d_model", "n_heads", "d_head", "d_value")
"""The shared sizes that every configuration has."""

IN_FULL = Phrase("keys_and_values")

Heads = tuple[int, ...]
Shapes = dict[str, tuple[int, ...]]
"""Trace field -> sizes of the product that makes it, contracted ones included."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to compute a layer: an order of multiplication over the same weights.

    Attributes:
        name: what the engine's calls and the costs name it.
        trace: what a run returns; its `form` names the form in SYMBOLS.
        forward: the layer's public call on a whole sequence.
        prefill: its formulas alone: (layer, h, positions) -> trace.
        decode: kind of cache -> formulas of a step: (layer, h, cache, positions) -> trace, cache.
        unmasked: (layer, trace of all its heads) -> logits before the mask [b,h,t,s].
        weighed: (layer, trace of all its heads, another attention [b,h,t,s]) -> the trace with that
            attention, and with the o and the u that follow from it.
        scores: code of each part of the logits -> codes of the query and key that make it.
        growing: trace fields whose products grow with queries x keys.
        needs: what its cache must hold, as a refusal says it.
        formulas: the functions to show to who asks what ran.
    """

    name: str
    trace: type[Trace]
    forward: Callable[..., Trace]
    prefill: Callable[[AttentionLayer, Tensor, Tensor], Trace]
    decode: Mapping[str, Callable[..., tuple[Trace, Cache]]]
    unmasked: Callable[[AttentionLayer, Trace], Tensor]
    weighed: Callable[[AttentionLayer, Trace, Tensor], Trace]
    scores: Mapping[str, tuple[str, str]]
    growing: tuple[str, ...]
    needs: str | Phrase = IN_FULL
    formulas: tuple[Callable, ...] = ()

    @property
    def symbols(self) -> str:
        """Under which name SYMBOLS has its steps."""
        return self.trace.form


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One choice of the reader: a configuration of some sizes, computed in one form.

    Attributes:
        code: what names it in links and texts.
        kind: what it is counted as, such as "GQA".
        form: the name of its form.
        sizes: the shared sizes that it uses.
        config: (sizes, a configuration of any mechanism) -> its configuration, with the rotation,
            norms and scales of the other where both have them.
        order: its place among all variants.
    """

    code: str
    kind: str
    form: str
    sizes: tuple[str, ...]
    config: Callable[[Mapping[str, int], AttentionConfig], AttentionConfig]
    order: int = 100


@dataclass(frozen=True, kw_only=True)
class Way:
    """A variant with the form and the cache that a step uses: what costs and decoding compare.

    Attributes:
        code: what names it in texts.
        variant: code of the variant that makes its configuration.
        form: the name of the form.
        cache: kind of cache.
        prefill: whether it differs from the other ways without a cache, too.
        order: its place among all ways.
        formulas: the functions of a step, to show to who asks what ran.
    """

    code: str
    variant: str
    form: str
    cache: str
    prefill: bool = True
    order: int = 100
    formulas: tuple[Callable, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sequences; tokens of each that are queries, that enter the cache, that are keys."""

    batch: int
    queries: int
    new: int
    keys: int


@dataclass(frozen=True)
class Formula:
    """One way of counting the numbers that are cached per token and layer.

    Attributes:
        code: what names it.
        written: LaTeX, in the paper's letters; d is the width of the model, g its KV heads.
        short: the same in Plotly's text.
        source: who used or replaced it.
        numbers: the count for a configuration.
        right: the right count.
    """

    code: str
    written: str
    short: str
    source: str
    numbers: Callable[[AttentionConfig], float]
    right: Callable[[AttentionConfig], float]

    def off(self, config: AttentionConfig) -> float:
        """Its count over the right one: 1 is right, below 1 too little."""
        return self.numbers(config) / self.right(config)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The closed forms of a mechanism; heads are global numbers, caches go by their kind.

    Attributes:
        weights: (config, heads) -> elements of each parameter.
        kv_heads: (config, heads) -> the KV heads that these use.
        cache_elements: (config, cache, heads) -> numbers kept per token.
        written: config -> how the numbers of its own cache come about, as arithmetic.
        products: (config, form, cache, heads, sizes) -> the matrix products of a call.
        made_anew: (config, form, cache, heads, sizes) -> numbers of a sequence that a call makes
            from its cache.
        read: (config, cache, heads, sizes) -> numbers of a sequence that a call reads of what its
            cache held before; all of them where a mechanism does not say.
        as_run: config -> one of which the products are those that a run of the layer makes, where
            it makes more than a kernel has to.
        of_latents: parameters that a call does not use where `latents` are handed in.
        formulas: how calculators count its cache, the right way first.
        layouts: config -> numbers per token of every way to lay out the cache, by part.
    """

    weights: Callable[[AttentionConfig, Heads], dict[str, int]]
    kv_heads: Callable[[AttentionConfig, Heads], Heads]
    cache_elements: Callable[[AttentionConfig, str, Heads], int]
    written: Callable[[AttentionConfig], str]
    products: Callable[[AttentionConfig, str, str, Heads, Sizes], Shapes]
    made_anew: Callable[[AttentionConfig, str, str, Heads, Sizes], int] = lambda *_: 0
    read: Callable[[AttentionConfig, str, Heads, Sizes], int] | None = None
    as_run: Callable[[AttentionConfig], AttentionConfig] = lambda config: config
    of_latents: tuple[str, ...] = ()
    formulas: tuple[Formula, ...] = ()
    layouts: Callable[[AttentionConfig], dict[str, dict[str, int]]] | None = None


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """What a mechanism declares.

    Attributes:
        key: the name of its package, and of its sizes' table in presets.toml.
        called: what it is called in the middle of a sentence.
        config_type: of its configurations.
        layer: the class that runs one.
        forms: the first is what a whole sequence is computed in unless another is asked for.
        caches: the classes of cache that it can keep; the first is its own.
        decoded_by: kind of cache -> the form that decodes with it unless another is asked for.
        variants: as the app offers them.
        ways: as costs and decoding compare them.
        costs: its closed forms.
        fused: (layer, h, positions) -> u [b,t,d] alone, as fast as torch has it: for training.
        of_preset: (fields of a row in presets.toml) -> its configuration.
        kind: config -> "MHA", "MLA", ...
        suggested: config of another mechanism -> the shared sizes that this one would have there.
        letters: einsum letter -> the size in its configurations that no other mechanism has.
        order: its place among the mechanisms.
    """

    key: str
    called: str | Phrase
    config_type: type[AttentionConfig]
    layer: type[AttentionLayer]
    forms: tuple[Form, ...]
    caches: tuple[type[Cache], ...]
    decoded_by: Mapping[str, str]
    variants: tuple[Variant, ...]
    ways: tuple[Way, ...]
    costs: Costs
    fused: Callable[[AttentionLayer, Tensor, Tensor], Tensor]
    of_preset: Callable[[dict[str, Any]], AttentionConfig]
    kind: Callable[[AttentionConfig], str]
    suggested: Callable[[AttentionConfig], dict[str, int]]
    letters: Mapping[str, str] = field(default_factory=dict)
    order: int = 100

    def __reduce__(self) -> tuple[Callable, tuple[str]]:
        return registry.named, (self.key,)  # there is one: it is copied and pickled by its name

    def form(self, name: str) -> Form:
        """The form of this name."""
        return _found(name, {form.name: form for form in self.forms})

    def form_of(self, trace: Trace) -> Form:
        """The form that a trace was computed in."""
        return next(form for form in self.forms if form.trace is type(trace))

    def cache(self, kind: str) -> type[Cache]:
        """The class of the caches of this kind."""
        return _found(kind, {cache.kind: cache for cache in self.caches})

    def variant(self, config: AttentionConfig) -> Variant:
        """The first variant that a configuration is of."""
        return next(one for one in self.variants if one.kind == self.kind(config))


def _found(name: str, among: Mapping[str, Any]) -> Any:
    checks.choice("name", name, among)
    return among[name]
