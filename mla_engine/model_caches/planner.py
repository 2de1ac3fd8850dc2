"""Planning: what GPUs can serve at best, from bytes and FLOPs that cannot be left out.

Every time is a lower bound and every rate an upper one, of any way to place the weights: the
fullest GPU reads and computes no less than the mean of all, and no less than its group's own part.
Peaks are data sheets', nothing is said between GPUs, nothing is in memory but weights, cache and a
fixed overhead. Each group keeps the weights of attention, as far as they are told, and splits the
heads of its sequences; all other weights lie once on all GPUs.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

from mla_engine import checks, devices, sharing
from mla_engine.devices import Device
from mla_engine.model_caches import flops
from mla_engine.model_caches.counting import Placing
from mla_engine.model_caches.keys import UncountedError
from mla_engine.model_caches.parts import Model
from mla_engine.model_caches.storage import Storage

OVERHEAD = 2 * 2**30  # bytes of runtime, graphs and activations on each GPU: a habit, not measured
MOST_TOKENS, MOST_GPUS = 2**40, 2**16


@dataclass(frozen=True, kw_only=True)
class Step:
    """One decode step of a batch, each sequence one token further.

    Args:
        batch: sequences.
        read_bytes: of weights and cache, on the fullest GPU, at least.
        flops: of all GPUs.
        reading_seconds: in which the fullest GPU reads its bytes, at least.
        computing_seconds: in which it computes its share, at least.
    """

    batch: int
    read_bytes: Fraction
    flops: Fraction
    reading_seconds: Fraction
    computing_seconds: Fraction

    @property
    def seconds(self) -> Fraction:
        """At least: reading and computing side by side."""
        return max(self.reading_seconds, self.computing_seconds)

    @property
    def tokens_per_second(self) -> Fraction:
        """The most tokens a second of all sequences: batch / seconds."""
        return self.batch / self.seconds

    @property
    def sequence_tokens_per_second(self) -> Fraction:
        """The most tokens a second of one sequence: 1 / seconds."""
        return 1 / self.seconds


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A model on GPUs of one kind.

    Args:
        model: what its layers keep.
        storage: the types of its cache.
        parameters: of the whole model.
        active: of them, those that one token is multiplied with; None for all, but for a mixture of
            experts, whose speed then has no bound.
        gpu: a key or a name of GPUS, or another device.
        gpus: all of them; data: groups that have different sequences.
        routed_parameters: of them all, those of experts that layers choose among; by default what
            the model's experts and `active` leave.
        rounded: whether `parameters` is what a name says, and not a count.
        context: tokens of every sequence.
        prompt: tokens before the first new one, None for the whole context.
        weight_bytes: of one parameter, in the mean.
        weight_bits: of the narrowest that there are, by default those of the mean.
        overhead_bytes: on each GPU, for what is neither weights nor cache.

    Raises:
        RefusedError: a value that does not fit, named.
    """

    model: Model
    storage: Storage
    parameters: float
    active: float | None = None
    gpu: str | Device = "h200"
    gpus: int = 1
    data: int = 1
    context: int = 131_072
    prompt: int | None = None
    weight_bytes: float = 2
    weight_bits: float | None = None
    routed_parameters: float | None = None
    rounded: bool = False
    overhead_bytes: float = OVERHEAD

    def __post_init__(self) -> None:
        checks.kind("model", self.model, Model)
        checks.kind("storage", self.storage, Storage)
        checks.positive("parameters", self.parameters)
        if self.active is not None:
            checks.positive("active", self.active)
            if self.active > self.parameters:
                given = {"active": self.active, "parameters": self.parameters}
                raise UncountedError("more_active", **given)
        if self.routed_parameters is not None:
            checks.non_negative("routed_parameters", self.routed_parameters)
        devices.gpu(self.gpu)
        checks.whole("context", self.context, most=MOST_TOKENS)
        if self.prompt is not None:
            checks.whole("prompt", self.prompt, most=self.context)
        checks.positive("weight_bytes", self.weight_bytes)
        if self.weight_bits is not None:
            checks.positive("weight_bits", self.weight_bits)
        checks.non_negative("overhead_bytes", self.overhead_bytes)
        self.placing(1)

    def placing(self, batch: int) -> Placing:
        """Return the cache of so many sequences on the GPUs."""
        sizes = {"gpus": self.gpus, "data": self.data, "batch": batch}
        return Placing(model=self.model, storage=self.storage, **sizes)

    @property
    def device(self) -> Device:
        """One GPU."""
        return devices.gpu(self.gpu)

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the prompt, by default the whole context."""
        return self.context if self.prompt is None else self.prompt

    @property
    def bounded(self) -> bool:
        """Tell if its speed has a bound: of a mixture of experts, active parameters are needed."""
        return self.active is not None or not self.model.mixture

    @property
    def active_parameters(self) -> Fraction:
        """The parameters that one token is multiplied with.

        Raises:
            UncountedError: a mixture of experts without their number.
        """
        if not self.bounded:
            raise UncountedError("no_active")
        return Fraction(self.parameters if self.active is None else self.active)

    @property
    def routed(self) -> bool:
        """Tell if it is known what a batch touches that shares no expert."""
        known = self.active is not None and self.model.experts is not None
        return known and self.active < self.parameters and self.model.mixture is not False

    def touched(self, batch: int, *, spread: bool) -> Fraction:
        """Return the parameters that a batch is multiplied with.

        All sequences use the same experts: the active ones, the least that any routing touches.
        Each has experts of its own: active + min(routed, batch x used) - used, where used = routed
        x experts of a token / all; attention, dense layers and shared experts are there once.
        """
        active = self.active_parameters
        if not spread or not self.routed:
            return active
        share = Fraction(*self.model.experts)
        routed = self.routed_parameters
        if routed is None:
            routed = (self.parameters - active) / (1 - share) if share < 1 else 0
        used = min(Fraction(routed) * share, active)
        return active + min(Fraction(routed), batch * used) - used

    @property
    def rank_weight_bytes(self) -> Fraction:
        """Weights on each GPU: attention's over those of a group, all others over all GPUs."""
        return self._weights(Fraction(self.parameters), self.data)

    @property
    def weights_flops_per_second(self) -> float:
        """The peak of a GPU for numbers as narrow as the narrowest weights."""
        bits = 8 * self.weight_bytes if self.weight_bits is None else self.weight_bits
        return self.device.fastest(bits)

    @property
    def room_bytes(self) -> Fraction:
        """The room that weights and overhead leave for the cache; below 0 where they do not fit."""
        taken = self.rank_weight_bytes + Fraction(self.overhead_bytes)
        return Fraction(self.device.memory_bytes) - taken

    @property
    def sequence_bytes(self) -> Fraction:
        """Cache of one sequence on each GPU of its group, at most, while it grows to `context`."""
        return self.placing(1).most_bytes(self.context)

    @cached_property
    def largest_batch(self) -> int:
        """Sequences that fit: data x floor(room_bytes / sequence_bytes), 0 if not one a group."""
        return sharing.largest_batch(self.room_bytes, self.sequence_bytes, self.data)

    @property
    def missing_bytes(self) -> Fraction:
        """The bytes that each GPU lacks for one sequence a group; 0 where it fits."""
        return max(Fraction(0), self.sequence_bytes - self.room_bytes)

    @property
    def fewest_gpus(self) -> int | None:
        """In as many groups, on which one sequence a group fits; None where no number is enough."""

        def fits(ranks: int) -> bool:
            return not replace(self, gpus=ranks * self.data).missing_bytes

        ranks = sharing.first_whole(fits, MOST_GPUS // self.data)
        return ranks and ranks * self.data

    def step(self, batch: int, *, spread: bool = False) -> Step:
        """Return one decode step after `context` tokens.

        Bytes that the fullest GPU reads, at least: the mean of all GPUs, (attention's weights x
        groups at work + the other touched ones) / GPUs + cache of batch / groups sequences; and its
        group's share of attention's weights + the cache of its sequences. Seconds: the larger of
        bytes / bandwidth and FLOPs / peak.

        Args:
            batch: sequences.
            spread: whether each sequence has experts of its own; otherwise all use the same.
        """
        touched = self.touched(batch, spread=spread)
        cache = self.placing(1).read_bytes(self.context)
        own = self._weights(self._attention(touched), self.data)
        mean = self._weights(touched, min(batch, self.data)) + Fraction(batch, self.data) * cache
        read = max(mean, own + self._sequences(batch) * cache)
        products = 2 * self.active_parameters * batch
        attention = flops.step_flops(self.model, self.context)
        return Step(
            batch=batch,
            read_bytes=read,
            flops=products + batch * attention,
            reading_seconds=self._reading(read),
            computing_seconds=self._computing(products, batch, attention),
        )

    @property
    def computing_from(self) -> int | None:
        """Sequences, as many in each group, from which a step computes as long as it reads.

        Both times are straight lines over them where all touch the same weights; None where
        reading takes longer whatever their number.
        """
        one, two = (self.step(n * self.data) for n in (1, 2))
        behind, then = (step.reading_seconds - step.computing_seconds for step in (one, two))
        if behind <= 0:
            return self.data
        return None if then >= behind else self.data * (1 + ceil(behind / (behind - then)))

    @property
    def prompt_flops(self) -> Fraction:
        """The FLOPs of one prompt: 2 x active parameters x tokens + attention."""
        products = 2 * self.active_parameters * self.prompt_tokens
        return products + flops.prompt_flops(self.model, self.prompt_tokens)

    @property
    def first_token_seconds(self) -> Fraction:
        """Until one prompt's first token, at least, on otherwise idle GPUs.

        No less than its FLOPs / (peak x GPUs), than attention's on the GPUs of its group, and than
        the time in which a GPU reads its active weights.
        """
        products = 2 * self.active_parameters * self.prompt_tokens
        attention = flops.prompt_flops(self.model, self.prompt_tokens)
        reading = self._reading(self._weights(self.active_parameters, 1))
        return max(reading, self._computing(products, 1, attention))

    def _sequences(self, batch: int) -> int:
        """Return the sequences of the fullest group."""
        return self.placing(batch).sequences

    def _attention(self, parameters: Fraction) -> Fraction:
        return min(Fraction(self.model.attention_parameters), parameters)

    def _weights(self, parameters: Fraction, groups: int) -> Fraction:
        """Return their bytes of each GPU in the mean, attention's in so many groups."""
        attention = Fraction(self.model.attention_parameters)
        each = sharing.parameters_each(parameters, attention, self.gpus, groups)
        return each * Fraction(self.weight_bytes)

    def _reading(self, n_bytes: Fraction) -> Fraction:
        return n_bytes / Fraction(self.device.bytes_per_second)

    def _computing(self, products: Fraction, batch: int, attention: int) -> Fraction:
        """Seconds of the mean GPU, and no less than of attention on one of the fullest group.

        Weights are multiplied at the peak of numbers as narrow as they are stored, attention at
        that of the cache's narrowest.
        """
        of_weights = Fraction(self.weights_flops_per_second)
        of_cache = Fraction(self.device.fastest(self.storage.narrowest))
        mean = (products / of_weights + batch * attention / of_cache) / self.gpus
        group = Fraction(self._sequences(batch) * attention * self.data, self.gpus)
        return max(mean, group / of_cache)
