"""A stage of a plan: layers on GPUs of their own, what these hold, read and compute at least.

Without a pipeline there is one, with all layers on all GPUs.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from kvcount import sharing
from kvcount.counting import Placing
from kvcount.devices import Device
from kvcount.planning import flops
from kvcount.planning.pipeline import Stage


@dataclass(frozen=True, kw_only=True)
class Step:
    """One decode step of a batch, each sequence one token further.

    Args:
        batch: sequences.
        read_bytes: of weights and cache, on the fullest GPU, at least.
        flops: of all GPUs.
        reading_seconds: in which the fullest GPU reads its bytes, at least.
        computing_seconds: in which it computes its share, at least.
        parts: of the batch, that go through the stages one after another; 1 without a pipeline.
        passing_seconds: in which the largest part passes all stages, at least.
        exchanged_bytes: that a GPU of any stage receives of those that have other tokens, at least.
    """

    batch: int
    read_bytes: Fraction
    flops: Fraction
    reading_seconds: Fraction
    computing_seconds: Fraction
    parts: int = 1
    passing_seconds: Fraction = Fraction(0)
    exchanged_bytes: Fraction = Fraction(0)

    @property
    def seconds(self) -> Fraction:
        """At least: reading and computing side by side, and no part faster than through it all."""
        return max(self.reading_seconds, self.computing_seconds, self.passing_seconds)

    @property
    def tokens_per_second(self) -> Fraction:
        """The most tokens per second of all sequences: batch / seconds."""
        return self.batch / self.seconds

    @property
    def sequence_tokens_per_second(self) -> Fraction:
        """The most tokens per second of one sequence: 1 / seconds."""
        return 1 / self.seconds


@dataclass(frozen=True, kw_only=True)
class Serving:
    """A stage on its GPUs.

    Args:
        stage: its layers and their parameters.
        placing: their cache of one sequence on the stage's GPUs.
        holding: the same with layers that predict further tokens, where it has them.
        device: one of the GPUs.
        context: tokens of every sequence.
        weight_bytes: of a parameter.
        weights_flops: FLOP/s of products with weights.
        share: of its experts that a token uses, None where that is not known.
    """

    stage: Stage
    placing: Placing
    holding: Placing
    device: Device
    context: int
    weight_bytes: Fraction
    weights_flops: Fraction
    share: Fraction | None

    @property
    def rank_weight_bytes(self) -> Fraction:
        """Weights on each of its GPUs."""
        return self.weights(self.stage.parameters, self._attention, self.placing.data)

    @cached_property
    def sequence_bytes(self) -> Fraction:
        """Cache of one sequence on each GPU of its group, at most, while it grows to `context`."""
        return self.holding.most_bytes(self.context)

    def weights(self, parameters: Fraction, attention: Fraction, groups: int) -> Fraction:
        """Return their bytes of each GPU in the mean, attention's in so many groups."""
        each = sharing.parameters_each(parameters, attention, self.placing.gpus, groups)
        return each * self.weight_bytes

    def touched(
        self, batch: int, *, spread: bool = False, parts: int = 1, certain: bool = False
    ) -> Fraction:
        """Return the parameters that parts of a batch are multiplied with, each time anew.

        All sequences use the same experts: the active parameters for each part. Each has experts of
        its own: what is no expert for each part, and min(routed, batch x used) in all of them.

        Args:
            batch: sequences.
            spread: whether each has experts of its own.
            parts: of the batch.
            certain: whether only what is told to be in these layers counts.
        """
        active = self.stage.certain if certain else self.stage.active
        if not spread or self.share is None:
            return parts * active
        used = min(self.stage.routed * self.share, active)
        return parts * (active - used) + min(self.stage.routed, batch * used)

    def mean_bytes(self, batch: int, **touched: object) -> Fraction:
        """Return the bytes that its GPUs read in the mean.

        (Attention's weights x groups at work in each part + the other touched ones) / GPUs + the
        mean cache of a sequence x sequences / groups.
        """
        data, parts = self.placing.data, int(touched.get("parts", 1))
        read = self.touched(batch, **touched)
        attention = parts * min(self._attention, read / parts)
        groups = Fraction(min(parts * min(batch, data), batch), parts)
        cache = Fraction(batch, data) * self._mean_cache
        return self.weights(read, attention, groups) + cache

    def own_bytes(self, batch: int, **touched: object) -> Fraction:
        """Return those of a GPU of the fullest group: of attention's weights, and of the cache."""
        one, parts = self.placing, int(touched.get("parts", 1))
        attention = parts * min(self._attention, self.touched(batch, **touched) / parts)
        fullest = sharing.sequences_each(batch, one.data)
        cache = fullest * self._cache
        return self.weights(attention, attention, one.data) + cache

    def mean_computing(self, batch: int, *, certain: bool = False) -> Fraction:
        """Return the seconds in which its GPUs compute the next token of each in the mean."""
        active = self.stage.certain if certain else self.stage.active
        return self.mean_seconds(2 * active * batch, batch * self._scores)

    def own_computing(self, batch: int) -> Fraction:
        """Return those of attention on a GPU of the fullest group."""
        fullest = sharing.sequences_each(batch, self.placing.data)
        return self.own_seconds(fullest * self._scores)

    def mean_seconds(self, products: Fraction, attention: int) -> Fraction:
        """Return the seconds of its GPUs in the mean for so many FLOPs.

        Weights are multiplied at the peak of numbers as narrow as they are stored, attention at
        that of the cache's narrowest.
        """
        return (products / self.weights_flops + attention / self._of_cache) / self.placing.gpus

    def own_seconds(self, attention: int) -> Fraction:
        """Return the seconds of the GPUs of one group for so many FLOPs."""
        return Fraction(attention * self.placing.data, self.placing.gpus) / self._of_cache

    @cached_property
    def _cache(self) -> Fraction:
        """Bytes of a sequence that its fullest GPU reads for the next token."""
        return self.placing.read_bytes(self.context)

    @cached_property
    def _mean_cache(self) -> Fraction:
        return self.placing.mean_read_bytes(self.context)

    @cached_property
    def _scores(self) -> int:
        """FLOPs of attention for the next token of a sequence."""
        return flops.step_flops(self.placing.model, self.context)

    @cached_property
    def _of_cache(self) -> Fraction:
        return Fraction(self.device.fastest(self.placing.storage.narrowest))

    @cached_property
    def _attention(self) -> Fraction:
        told = Fraction(self.placing.model.attention_parameters)
        return min(told, self.stage.parameters)
