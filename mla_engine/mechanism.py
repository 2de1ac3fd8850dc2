"""The declaration of an attention mechanism, for costs, presets, glossary and pages.

Its package holds a module `mechanism` with its MECHANISM, which the registry `mechanisms` finds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from kvcount import checks
from kvcount.lazy import LazyModule
from kvcount.refusals import Phrase, RefusedError
from mla_engine.cache import Cache
from mla_engine.closed_forms import Costs
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.trace import Trace

registry = LazyModule("mla_engine.mechanisms")  # which imports this module

COMMON_SIZES = ("d_model", "n_heads", "d_head", "d_value")
"""The shared sizes that every configuration has."""

IN_FULL = Phrase("keys_and_values")


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to compute a layer: an order of multiplication over the same weights.

    Attributes:
        name: what the engine's calls and the costs name it.
        trace: what a run returns; its `form` names the form in SYMBOLS.
        forward: the layer's public call on a whole sequence.
        prefill: only its formulas: (layer, h, positions) -> trace.
        decode: kind of cache -> formulas of a step: (layer, h, cache, positions) -> trace, cache.
        unmasked: (layer, trace of all its heads) -> logits before the mask [b,h,t,s], if any.
        columns: (layer, trace of all its heads) -> logits [b,h,t,n] and bool [b,t,n], True where
            seen, of all that a row's softmax runs over, where that is more than keys: of
            configurations with sinks.
        read: (layer, trace of a whole text) -> how much of the value of each token a query reads
            [b,h,t,s], where no softmax shares that out.
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
    unmasked: Callable[[AttentionLayer, Trace], Tensor] | None = None
    columns: Callable[[AttentionLayer, Trace], tuple[Tensor, Tensor]] | None = None
    read: Callable[[AttentionLayer, Trace], Tensor] | None = None
    weighed: Callable[[AttentionLayer, Trace, Tensor], Trace] | None = None
    scores: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    growing: tuple[str, ...] = ()
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
        offered: whether the reader may choose it for any sizes; else only layers that are of its
            kind are shown as it.
    """

    code: str
    kind: str
    form: str
    sizes: tuple[str, ...]
    config: Callable[[Mapping[str, int], AttentionConfig], AttentionConfig]
    order: int = 100
    offered: bool = True


@dataclass(frozen=True, kw_only=True)
class Way:
    """A variant with the form and the cache that a step uses: what costs and decoding compare.

    Attributes:
        code: what names it in texts.
        variant: code of the variant that makes its configuration.
        form: the name of the form.
        cache: kind of cache.
        whole: the name of the form of a whole sequence, where that is another.
        prefill: whether it differs from the other ways without a cache, too.
        order: its place among all ways.
        formulas: the functions of a step, to show to who asks what ran.
    """

    code: str
    variant: str
    form: str
    cache: str
    whole: str = ""
    prefill: bool = True
    order: int = 100
    formulas: tuple[Callable, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """The declaration of a mechanism.

    Attributes:
        key: the name of its package, and of its sizes' table in a row of models.toml.
        called: what it is called in the middle of a sentence.
        config_type: of its configurations.
        layer: the class that runs one.
        forms: the first is what a whole sequence is computed in unless another is asked for.
        caches: the classes of cache that it can keep; the first is its own.
        decoded_by: kind of cache -> the form that decodes with it unless another is asked for.
        variants: as the app offers them; none where no page shows it yet.
        ways: as costs and decoding compare them.
        costs: its closed forms.
        fused: (layer, h, positions) -> only u [b,t,d], as fast as torch has it: for training.
        of_preset: (fields of a row in models.toml) -> its configuration.
        kind: config -> "MHA", "MLA", ...
        suggested: config of another mechanism -> the shared sizes that this one would have there.
        letters: einsum letter -> the size in its configurations that no other mechanism has.
        after_mla: whether it came after MLA, and has a point of its own beside it.
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
    suggested: Callable[[AttentionConfig], dict[str, int]] = lambda _config: {}
    letters: Mapping[str, str] = field(default_factory=dict)
    after_mla: bool = False
    order: int = 100

    def __reduce__(self) -> tuple[Callable, tuple[str]]:
        return registry.named, (self.key,)  # there is one: it is copied and pickled by its name

    def form(self, name: str) -> Form:
        """Return the form of this name."""
        return _found(name, {form.name: form for form in self.forms})

    def form_of(self, trace: Trace) -> Form:
        """Return the form that a trace was computed in."""
        return next(form for form in self.forms if form.trace is type(trace))

    def cache(self, kind: str) -> type[Cache]:
        """Return the class of the caches of this kind."""
        return _found(kind, {cache.kind: cache for cache in self.caches})

    def variant(self, config: AttentionConfig) -> Variant:
        """Return the first variant that a configuration is of; ValueError if no page shows it."""
        kind = self.kind(config)
        for one in self.variants:
            if one.kind == kind:
                return one
        raise RefusedError("no_page", called=self.called)


def _found(name: str, among: Mapping[str, Any]) -> Any:
    checks.choice("name", name, among)
    return among[name]
