"""Placing a cache on GPUs: what each holds, and how long the context can grow.

Under tensor parallelism each GPU keeps some KV heads of every sequence, down to one, then copies;
a latent serves all heads and is copied to each. Under data parallelism each has whole sequences.
Attention's weights are split over the GPUs of a group, all others over all GPUs; nothing else takes
memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from mla_engine import checks
from mla_engine.model_caches import counting
from mla_engine.model_caches.parts import Model
from mla_engine.model_caches.storage import Storage

MOST = 2**50  # tokens or sequences


@dataclass(frozen=True, kw_only=True)
class Placing:
    """A cache on so many GPUs.

    Args:
        model: whose cache.
        storage: the types of its parts.
        gpus: all of them.
        data: groups that have different sequences; the GPUs of a group split the heads.
        batch: sequences.

    Raises:
        RefusedError: a number that does not fit, named with its value.
    """

    model: Model
    storage: Storage
    gpus: int = 1
    data: int = 1
    batch: int = 1

    def __post_init__(self) -> None:
        checks.whole("gpus", self.gpus, most=2**16)
        checks.whole("data", self.data, most=2**16)
        checks.whole("batch", self.batch, most=MOST)
        checks.multiple("gpus", self.gpus, "data", self.data)

    @property
    def ranks(self) -> int:
        """GPUs that split the heads of a sequence."""
        return self.gpus // self.data

    @property
    def sequences(self) -> int:
        """Of the fullest GPU."""
        return -(-self.batch // self.data)

    def token_bytes(self) -> Fraction:
        """What each further token of each sequence adds on the fullest GPU."""
        return self._over_layers(counting.bytes_per_token)

    def held_bytes(self, context: int) -> Fraction:
        """What the fullest GPU holds of sequences of `context` tokens."""
        return self._over_layers(counting.held_bytes, context)

    def read_bytes(self, context: int) -> Fraction:
        """What the fullest GPU reads for the tokens after `context` others."""
        return self._over_layers(counting.read_bytes, context)

    def most_bytes(self, context: int) -> Fraction:
        """What it holds at most of sequences of up to `context` tokens."""
        return self._over_layers(counting.most_bytes, context)

    def _over_layers(self, count: Callable[..., Fraction], *context: int) -> Fraction:
        """The sequences of the fullest GPU, over all layers."""
        of_layers = (
            n * count(layer, self.storage, *context, self.ranks)
            for layer, n in self.model.groups.items()
        )
        return self.sequences * sum(of_layers, Fraction(0))

    def rank_parameters(self, parameters: float) -> Fraction:
        """Of so many parameters, attention's among them, those that each GPU keeps."""
        attention = min(Fraction(self.model.attention_parameters), Fraction(parameters))
        return attention / self.ranks + (Fraction(parameters) - attention) / self.gpus

    def longest_context(self, gpu_bytes: float, weight_bytes: float = 0) -> int | None:
        """Tokens to which each sequence can grow on GPUs of this memory, None if without bound.

        Args:
            gpu_bytes: memory of one GPU.
            weight_bytes: of the weights that it keeps.
        """
        room = Fraction(gpu_bytes) - Fraction(weight_bytes)
        if self.most_bytes(MOST) <= room:
            return None
        low, high = 0, MOST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.most_bytes(middle) <= room else (low, middle)
        return low if self.most_bytes(low) <= room else 0
