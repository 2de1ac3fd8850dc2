"""Measure a model with a smaller cache: the loss of every text, and a sentence that it writes.

Perplexity is exp of the mean loss: as if so many words were equally likely at every step.
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mla_engine.language_model import LanguageModel, generate

PROMPT = "The capital of France is"
WRITTEN = 24  # tokens


@torch.inference_mode()
def losses(model: LanguageModel, pieces: Tensor) -> list[float]:
    """Return the mean loss of each piece [n,t]: -log p of every token after those before it."""
    return [float(cross_entropy(model.logits(piece[None])[0, :-1], piece[1:])) for piece in pieces]


@torch.inference_mode()
def written(model: LanguageModel, prompt: str = PROMPT) -> str:
    """Return what a model writes after a prompt, the likeliest token each time."""
    tokens = torch.tensor([model.config.tokens(prompt)])
    return model.config.text([int(step.token) for step in generate(model, tokens, WRITTEN)])
