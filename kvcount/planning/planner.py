"""Planning: what GPUs can serve at best, from bytes and FLOPs that cannot be left out.

Every time is a lower bound and every rate an upper one, of any way to place the weights: the
fullest GPU reads and computes no less than the mean of all, and no less than its group's own part.
Peaks are data sheets', nothing is said between GPUs, nothing is in memory but weights, cache and a
fixed overhead. Each group keeps the weights of attention, as far as they are told, and splits the
heads of its sequences; all other weights lie once on all GPUs. A pipeline's stages do so each with
its own layers, and pass the batch on in parts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

from kvcount import checks, devices, sharing
from kvcount.context_parallel import exchanged_bytes, kv_heads
from kvcount.counting import Placing
from kvcount.devices import Device
from kvcount.dtypes import Storage
from kvcount.parts import Model
from kvcount.planning import flops, pipeline
from kvcount.planning.pipeline import refuse_mtp
from kvcount.planning.serving import Serving, Step
from kvcount.reading.keys import UncountedError

OVERHEAD = 2 * 2**30  # bytes of runtime, graphs and activations on each GPU: a habit, not measured
MOST_TOKENS, MOST_GPUS = 2**40, 2**16


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
        pipeline: stages, over which the layers are dealt out; each has so many of the GPUs.
        context_ranks: GPUs of a group among which the tokens of a sequence are dealt out (DCP).
        mtp: whether the cache of layers that predict further tokens is held, too.

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
    pipeline: int = 1
    context_ranks: int = 1
    mtp: bool = False

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
        checks.whole("pipeline", self.pipeline, most=2**12)
        checks.multiple("gpus", self.gpus, "pipeline", self.pipeline)
        if self.mtp:
            refuse_mtp(self.model, self.model.model_type or "this model")
        self.placing(1)

    def placing(self, batch: int) -> Placing:
        """Return the cache of so many sequences on the GPUs, of the stage where fewest fit."""
        return replace(self.fullest.holding, batch=batch)

    @cached_property
    def stages(self) -> list[Serving]:
        """The layers of each stage on its GPUs, their weights and cache."""
        whole = Fraction(self.parameters)
        active = self.active_parameters if self.bounded else whole
        on = {
            "storage": self.storage,
            "gpus": self.gpus // self.pipeline,
            "data": self.data,
            "context_ranks": self.context_ranks,
        }
        return [
            Serving(
                stage=stage,
                placing=(placing := Placing(model=stage.model, **on)),
                holding=replace(placing, model=stage.model.drafting) if self.mtp else placing,
                device=self.device,
                context=self.context,
                weight_bytes=Fraction(self.weight_bytes),
                weights_flops=Fraction(self.weights_flops_per_second),
                share=Fraction(*self.model.experts) if self.routed else None,
            )
            for stage in pipeline.stages(
                self.model, self.pipeline, whole, active, self.expert_parameters
            )
        ]

    @cached_property
    def fullest(self) -> Serving:
        """The stage where fewest sequences fit, or that lacks most for one a group."""

        def left(one: Serving) -> tuple[int, Fraction]:
            room = self._room(one)
            fitting = sharing.largest_batch(room, one.sequence_bytes, self.data)
            return fitting, room - one.sequence_bytes

        return min(self.stages, key=left)

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

    @property
    def expert_parameters(self) -> Fraction:
        """The parameters of experts that layers choose among, 0 where that is not known."""
        if not self.routed:
            return Fraction(0)
        if self.routed_parameters is not None:
            return Fraction(self.routed_parameters)
        share = Fraction(*self.model.experts)
        idle = Fraction(self.parameters) - self.active_parameters
        return idle / (1 - share) if share < 1 else Fraction(0)

    @property
    def rank_weight_bytes(self) -> Fraction:
        """Weights on each GPU: attention's over those of a group, all others over all GPUs."""
        return self.fullest.rank_weight_bytes

    @property
    def weights_flops_per_second(self) -> float:
        """The peak of a GPU for numbers as narrow as the narrowest weights."""
        bits = 8 * self.weight_bytes if self.weight_bits is None else self.weight_bits
        return self.device.fastest(bits)

    @property
    def room_bytes(self) -> Fraction:
        """The room that weights and overhead leave for the cache; below 0 where they do not fit."""
        return self._room(self.fullest)

    @property
    def sequence_bytes(self) -> Fraction:
        """Cache of one sequence on each GPU of its group, at most, while it grows to `context`."""
        return self.fullest.sequence_bytes

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
        each = self.context_ranks
        others = kv_heads(self.model) - 1 if each > 1 else 0  # DCP needs copies

        def gpus(n: int) -> int:
            return (n + others) * each * self.data * self.pipeline

        def fits(n: int) -> bool:
            return not replace(self, gpus=gpus(n)).missing_bytes

        found = sharing.first_whole(fits, MOST_GPUS // gpus(1))
        return found and gpus(found)

    def step(self, batch: int, *, spread: bool = False) -> Step:
        """Return one decode step after `context` tokens.

        Bytes that the fullest GPU reads, at least: the mean of all GPUs, (attention's weights x
        groups at work + the other touched ones) / GPUs + cache of batch / groups sequences; and its
        group's share of attention's weights + the cache of its sequences. Seconds: the larger of
        bytes / bandwidth and FLOPs / peak. With a pipeline: of the busiest stage, which reads its
        weights for each part of the batch, and no less than the largest part takes through all
        stages; of so many parts with which that is least.

        Args:
            batch: sequences.
            spread: whether each sequence has experts of its own; otherwise all use the same.
        """
        products = 2 * self.active_parameters * batch
        attention = flops.step_flops(self.model, self.context)
        found: Step | None = None
        for parts in range(1, sharing.sequences_each(batch, self.data) + 1):
            step = self._step(batch, parts, spread=spread)
            found = min(filter(None, (found, step)), key=lambda one: one.seconds)
            if step.passing_seconds <= max(step.reading_seconds, step.computing_seconds):
                break  # in more parts weights are read more often
        placings = (one.placing for one in self.stages)
        each = min(exchanged_bytes(one.model, one.ranks, one.context_ranks) for one in placings)
        exchanged = sharing.sequences_each(batch, self.data) * each
        flop = products + batch * attention
        return replace(found, flops=flop, exchanged_bytes=exchanged)

    def _step(self, batch: int, parts: int, *, spread: bool) -> Step:
        """Return a step in so many parts, without what does not depend on them."""
        how, part = {"spread": spread, "parts": parts}, -(-batch // parts)
        read = self._busiest(
            lambda one, **which: one.mean_bytes(batch, **how, **which),
            lambda one: one.own_bytes(batch, **how),
        )
        computing = self._busiest(
            lambda one, **which: one.mean_computing(batch, **which),
            lambda one: one.own_computing(batch),
        )
        in_turn = (
            self._reading(sum(one.mean_bytes(part, spread=spread) for one in self.stages)),
            self._reading(sum(one.own_bytes(part, spread=spread) for one in self.stages)),
            sum(one.mean_computing(part) for one in self.stages),
            sum(one.own_computing(part) for one in self.stages),
        )
        return Step(
            batch=batch,
            read_bytes=read,
            flops=Fraction(0),
            reading_seconds=self._reading(read),
            computing_seconds=computing,
            parts=parts,
            passing_seconds=max(in_turn),
        )

    def _busiest(
        self, mean: Callable[..., Fraction], own: Callable[[Serving], Fraction]
    ) -> Fraction:
        """Return the most of a stage, at least, wherever weights are that are not told to be in it.

        Args:
            mean: of a stage's GPUs; `certain` asks for what is told to be in it alone.
            own: of a GPU of its fullest group.
        """
        told = max(mean(one, certain=True) for one in self.stages)
        even = sum(mean(one, certain=False) for one in self.stages) / len(self.stages)
        return max(told, even, *(own(one) for one in self.stages))

    @property
    def computing_from(self) -> int | None:
        """Sequences, as many in each group, from which a step computes as long as it reads.

        Both times are straight lines over them where all touch the same weights; None where
        reading takes longer whatever their number. With a pipeline, as far as MOST_TOKENS of them.
        """
        if self.pipeline > 1:
            found = sharing.first_whole(self._computes, MOST_TOKENS)
            return found and found * self.data
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

        No less than its FLOPs / (peak x GPUs), than a stage's attention on the GPUs of its group,
        and than the time in which GPUs of each stage in turn read their active weights.
        """
        if not self.bounded:
            raise UncountedError("no_active")
        reading, n_tokens = Fraction(0), self.prompt_tokens
        for one in self.stages:
            active, attention = one.stage.active, one.placing.model.attention_parameters
            reading += self._reading(one.weights(active, min(active, Fraction(attention)), 1))

        def mean(one: Serving, *, certain: bool) -> Fraction:
            active = one.stage.certain if certain else one.stage.active
            attention = flops.prompt_flops(one.placing.model, n_tokens)
            return one.mean_seconds(2 * active * n_tokens, attention)

        computing = self._busiest(
            mean, lambda one: one.own_seconds(flops.prompt_flops(one.placing.model, n_tokens))
        )
        return max(reading, computing)

    def _computes(self, each: int) -> bool:
        step = self.step(each * self.data)
        return step.computing_seconds >= step.reading_seconds

    def _reading(self, n_bytes: Fraction) -> Fraction:
        return n_bytes / Fraction(self.device.bytes_per_second)

    def _room(self, one: Serving) -> Fraction:
        taken = one.rank_weight_bytes + Fraction(self.overhead_bytes)
        return Fraction(self.device.memory_bytes) - taken
