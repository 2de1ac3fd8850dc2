"""Words after words: each new one is chosen from the logits that the last one gave."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kvcount import checks
from mla_engine.cache import Cache
from mla_engine.language_model.model import LanguageModel, ModelTrace

__all__ = ["Step", "chosen", "generate"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One word that was written.

    Attributes:
        token: [b], the words chosen.
        trace: the run that gave their logits: of the whole prompt at first, then of one word.
        caches: what each layer holds after that run; the new word is not in it yet.
    """

    token: Tensor
    trace: ModelTrace
    caches: tuple[Cache, ...]


def chosen(logits: Tensor, temperature: float, generator: torch.Generator | None = None) -> Tensor:
    """Choose the next tokens [b] by logits [b,n]: the likeliest at temperature 0, else drawn."""
    if temperature == 0:
        return logits.argmax(-1)
    probabilities = torch.softmax(logits.double() / temperature, dim=-1)
    return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)


@torch.no_grad()
def generate(
    model: LanguageModel,
    prompt: Tensor,
    count: int,
    temperature: float = 0.0,
    seed: int = 0,
    cache: str | None = None,
    form: str | None = None,
) -> Iterator[Step]:
    """Write `count` words after a prompt [b,t], one by one, through a cache.

    Args:
        model: of any mechanism.
        prompt: int64 [b,t].
        count: words to write.
        temperature: 0 takes the likeliest word.
        seed: of the draws.
        cache: kind of cache, the mechanism's own by default.
        form: that the attention decodes in.

    Raises:
        ValueError: a temperature below 0, a kind or a form that the mechanism has not.
    """
    checks.whole("count", count)
    checks.non_negative("temperature", temperature)
    generator = torch.Generator().manual_seed(seed)
    caches, tokens = model.empty_caches(cache, batch=prompt.shape[0]), prompt
    for _ in range(count):
        trace, caches = model.decode(tokens, caches, form)
        token = chosen(trace.logits[:, -1], temperature, generator)
        yield Step(token=token, trace=trace, caches=caches)
        tokens = token.unsqueeze(-1)
