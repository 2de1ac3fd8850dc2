"""Planning: what GPUs can serve at best, from bytes and FLOPs that cannot be left out.

Every time is a lower bound and every rate an upper one: data-sheet peaks, work spread evenly over
the GPUs, no traffic between them, nothing in memory but weights, cache and a fixed overhead. Each
group keeps the weights of attention, as far as they are told; all others are spread over all GPUs.
Products are taken to run at the peak of 16-bit numbers, whatever type they are stored in.
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
        read_bytes: of weights and cache, on the fullest GPU.
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
        context: tokens of every sequence.
        prompt: tokens before the first new one, None for the whole context.
        weight_bytes: of one parameter.
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
        devices.gpu(self.gpu)
        checks.whole("context", self.context, most=MOST_TOKENS)
        if self.prompt is not None:
            checks.whole("prompt", self.prompt, most=self.context)
        checks.positive("weight_bytes", self.weight_bytes)
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
        """Tell if a batch may touch more parameters than one token: experts of its own."""
        given = self.active is not None and self.model.mixture is not False
        return given and self.active < self.parameters

    @property
    def rank_weight_bytes(self) -> Fraction:
        """Weights on each GPU: attention's over those of a group, all others over all GPUs."""
        return self._weights(Fraction(self.parameters))

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

        Bytes of the fullest GPU: its share of the touched parameters + cache read.
        FLOPs: batch x (2 x active parameters + attention). Seconds: the larger of
        bytes / bandwidth and FLOPs of a GPU / peak.

        Args:
            batch: sequences.
            spread: whether each sequence touches weights of its own, min(parameters, batch x
                active); otherwise all touch the same active ones, the least that any routing reads.
        """
        placing = self.placing(batch)
        touched = self.active_parameters * (batch if spread else 1)
        weights = self._weights(min(Fraction(self.parameters), touched))
        read = weights + placing.read_bytes(self.context)
        products = 2 * self.active_parameters * batch
        attention = flops.step_flops(self.model, self.context)
        return Step(
            batch=batch,
            read_bytes=read,
            flops=products + batch * attention,
            reading_seconds=self._reading(read),
            computing_seconds=self._computing(products, placing.sequences * attention),
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

        2 x active x prompt / (peak x gpus) + attention / (peak x gpus of a group), but no less than
        the time in which a GPU reads its active weights.
        """
        products = 2 * self.active_parameters * self.prompt_tokens
        attention = flops.prompt_flops(self.model, self.prompt_tokens)
        computing = self._computing(products, attention)
        return max(self._reading(self._weights(self.active_parameters)), computing)

    def _weights(self, parameters: Fraction) -> Fraction:
        """Return the bytes of each GPU's share of so many parameters, attention's among them."""
        return self.placing(1).rank_parameters(parameters) * Fraction(self.weight_bytes)

    def _reading(self, n_bytes: Fraction) -> Fraction:
        return n_bytes / Fraction(self.device.bytes_per_second)

    def _computing(self, products: Fraction, group_attention: int) -> Fraction:
        """Seconds: products with weights on all GPUs, attention on those of the fullest group."""
        each = products / self.gpus + Fraction(group_attention, self.gpus // self.data)
        return each / Fraction(self.device.flops_per_second)
