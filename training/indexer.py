"""Gives the trained MLA model a lightning indexer: DeepSeek-V3.2's dense warm-up.

"We maintain dense attention and freeze all model parameters except for the lightning indexer", and
bring the softmax of the index scores close to the attention summed over the heads, by their KL
divergence (report of DeepSeek-V3.2-Exp, section 2.1.1, equation 3). The second stage there, in
which the model itself learns to read only chosen keys, is left out: all else stays as it was.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import kl_div

from mla_engine.indexed import IndexedTrace
from mla_engine.indexed.indexer import IndexerWeights
from mla_engine.language_model import LanguageModel, ModelTrace
from mla_engine.language_model.sparse import with_topk
from mla_engine.language_model.texts import LENGTH
from training.plan import DSA
from training.run import rate, texts_of

STEPS, INTERVAL = 1000, 50
"""Steps, as many as there, and between two that are told."""
RATE = 1e-2
SEED = 10**7
"""For texts and first weights: no run of the study has the same."""


def warmed_up(
    dense: LanguageModel, steps: int = STEPS, tell: Callable[[int, float], object] = lambda *_: None
) -> LanguageModel:
    """Return the model of MLA with an indexer in each layer, of which nothing else has changed.

    Args:
        dense: the trained model.
        steps: of training.
        tell: called with the steps done and the last loss, every INTERVAL steps.
    """
    model = with_indexers(dense)
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=RATE, betas=(0.9, 0.98), weight_decay=0.0)
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = RATE * rate(step, steps)
        optimizer.zero_grad()
        value = loss(model(texts_of(SEED, step).tokens))
        value.backward()
        optimizer.step()
        if step % INTERVAL == 0:
            tell(step, value.item())
    return with_topk(model, DSA.index_topk)


def with_indexers(dense: LanguageModel) -> LanguageModel:
    """Return the model with untrained indexers, which choose all keys; these take gradients."""
    attention = replace(DSA, index_topk=LENGTH)
    model = LanguageModel(replace(dense.config, attention=attention), seed=SEED)
    model.load_state_dict(dense.state_dict(), strict=False)
    for name, weight in model.named_parameters():
        weight.requires_grad_(of_indexer(name))
    return model


def of_indexer(name: str) -> bool:
    """Return True if a weight of a model is one of an indexer, by its name."""
    return name.rpartition(".")[2] in IndexerWeights._fields


def loss(trace: ModelTrace) -> Tensor:
    """Return the KL divergence of softmax(I) [b,t,s] from the attention of all heads together.

    That is summed over the heads and divided by their number, so that it adds up to 1. The loss is
    the mean over queries, and the sum over layers: none reads what another learns.
    """
    return sum(_of_layer(block.attention) for block in trace.blocks)


def _of_layer(trace: IndexedTrace) -> Tensor:
    wanted = trace.attention.mean(1)
    found = trace.index.masked_fill(~trace.mask, -torch.inf).log_softmax(-1)
    each = kl_div(found.masked_fill(~trace.mask, 0), wanted, reduction="none")
    return each.sum(-1).mean()
