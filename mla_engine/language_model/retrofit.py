"""A latent that a model of GQA gets after its training: in its own layers, or as a model of MLA.

Retrofit: W_K over W_V of all heads become a product, [m,d] = basis [m,r] coordinates [r,d], so
that the r numbers coordinates h could be cached in the place of keys and values. Norms, biases and
the rotation are the model's own and come after, as they do without a latent. IntoMLA: each layer
becomes a layer of MLA (`studies.transmla`). `averaged` is the older way to as small a cache:
the KV heads become one, their mean.

A fit may be to texts of the made-up language, or to the second moments (`moments`) of what enters
each layer as a model reads any text.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine import mechanisms
from mla_engine.grouped import GroupedConfig
from mla_engine.language_model.accuracy import run_of
from mla_engine.language_model.model import LanguageModel
from mla_engine.language_model.moments import roots
from mla_engine.language_model.texts import Text
from mla_engine.layer import AttentionLayer
from mla_engine.studies.compression import joint
from mla_engine.studies.transmla import Conversion, converted

__all__ = ["IntoMLA", "Retrofit", "averaged", "grouped_layers"]


@dataclass(frozen=True, eq=False)
class Retrofit:
    """The latents of every size that a model could get, each layer its own."""

    model: LanguageModel
    parts: tuple[tuple[Tensor, Tensor], ...]
    """Basis [m,n] and coordinates [n,d] of each layer: the first r are its latent of r numbers."""

    @classmethod
    def by_weights(cls, model: LanguageModel) -> "Retrofit":
        """Return the latents that come closest to the weights: their truncated SVD.

        Raises:
            ValueError: a model that has a latent already.
        """
        factors = [joint(*_weights(layer)).factors for layer in grouped_layers(model)]
        return cls(model, tuple((f.basis.double(), f.coordinates.double()) for f in factors))

    @classmethod
    @torch.no_grad()
    def by_texts(cls, model: LanguageModel, texts: Sequence[Text]) -> "Retrofit":
        """Return the latents that come closest to the keys and values of some texts' words.

        Of all latents of a size these lose the least of the squared length of k before rotation
        and v, on what enters each layer of the unchanged model: the leading eigenvectors of the
        mean of kv kv^T.

        Raises:
            ValueError: a model that has a latent already.
        """
        layers = grouped_layers(model)
        parts = []
        for layer, h in zip(layers, _inputs(model, texts), strict=True):
            stacked = torch.cat([weight.flatten(0, 1) for weight in _weights(layer)]).double()
            made = h.double() @ stacked.mT
            directions = torch.linalg.eigh(made.mT @ made).eigenvectors.flip(1)
            kept = directions[:, : min(stacked.shape)]
            parts.append((kept, kept.mT @ stacked))
        return cls(model, tuple(parts))

    @classmethod
    @torch.no_grad()
    def by_moments(cls, model: LanguageModel, moments: Tensor) -> "Retrofit":
        """Return the latents that come closest to the keys and values of what enters each layer.

        Keys and values are brought to one size first (`studies.compression.joint`).

        Args:
            model: of MHA, GQA or MQA.
            moments: [layers,d,d], as `moments` finds them.

        Raises:
            ValueError: a model that has a latent already.
        """
        pairs = zip(grouped_layers(model), roots(moments), strict=True)
        parts = []
        for layer, h in pairs:
            found = joint(*(weight.double() for weight in _weights(layer)), h.unsqueeze(0))
            of_keys = found.shapes[0][0] * found.shapes[0][1]
            basis = found.factors.basis.clone()
            basis[:of_keys] /= found.balance
            parts.append((basis, found.factors.coordinates))
        return cls(model, tuple(parts))

    @property
    def most(self) -> int:
        """The size of the latent from which nothing is lost."""
        return min(len(coordinates) for _, coordinates in self.parts)

    @torch.no_grad()
    def cut(self, rank: int) -> LanguageModel:
        """Return the model with a latent of `rank` numbers in every layer; its own stays as it is.

        Raises:
            ValueError: a size that there is not.
        """
        checks.whole("rank", rank, least=0, most=self.most)
        made = deepcopy(self.model)
        for layer, (basis, coordinates) in zip(grouped_layers(made), self.parts, strict=True):
            weights = _weights(layer)
            stacked = basis[:, :rank] @ coordinates[:rank]
            parts = stacked.split([weight.shape[0] * weight.shape[1] for weight in weights])
            for weight, part in zip(weights, parts, strict=True):
                weight.copy_(part.reshape(weight.shape))
        return made


def grouped_layers(model: LanguageModel) -> list[AttentionLayer]:
    """Return the attention of every layer.

    Raises:
        ValueError: a model that has a latent already.
    """
    attention = model.config.attention
    if not isinstance(attention, GroupedConfig):
        raise RefusedError("retrofit_latents", called=mechanisms.of(attention).called)
    return [block.attention for block in model.blocks]


def _weights(layer: AttentionLayer) -> tuple[Tensor, Tensor]:
    return layer.W_K, layer.W_V


def _inputs(model: LanguageModel, texts: Sequence[Text]) -> list[Tensor]:
    """Return what enters the attention of each layer at the words of some texts [n,d]."""
    trace, words = run_of(model, texts)
    return [block.attention.h[words] for block in trace.blocks]


@dataclass(frozen=True, eq=False)
class IntoMLA:
    """The MLA models of every rank that a model of MHA, GQA or MQA can become."""

    model: LanguageModel
    layers: tuple[Conversion, ...]

    @classmethod
    @torch.no_grad()
    def by_texts(cls, model: LanguageModel, texts: Sequence[Text]) -> "IntoMLA":
        """Convert layer by layer so that the keys and values of some texts' words lose least.

        Raises:
            ValueError: a model that has a latent already, or something that MLA has no place for.
        """
        layers = grouped_layers(model)
        pairs = zip(layers, _inputs(model, texts), strict=True)
        return cls(model, tuple(converted(layer, h.unsqueeze(0)) for layer, h in pairs))

    @classmethod
    @torch.no_grad()
    def by_moments(cls, model: LanguageModel, moments: Tensor) -> "IntoMLA":
        """Convert layer by layer so that keys and values of what enters each lose least.

        Args:
            model: of MHA, GQA or MQA.
            moments: [layers,d,d], as `moments` finds them.

        Raises:
            ValueError: as `by_texts`.
        """
        pairs = zip(grouped_layers(model), roots(moments), strict=True)
        return cls(
            model,
            tuple(converted(layer, h.to(layer.dtype).unsqueeze(0)) for layer, h in pairs),
        )

    @property
    def most(self) -> int:
        """The rank from which the latents lose nothing."""
        return min(layer.most for layer in self.layers)

    def cached(self, rank: int) -> int:
        """Count the numbers that the model keeps of a token in a layer: the latent and k_R."""
        return rank + self.layers[0].config(rank).d_rope

    @torch.no_grad()
    def cut(self, rank: int) -> LanguageModel:
        """Return the model of MLA with latents of `rank` numbers; the first one stays as it is.

        Raises:
            ValueError: a rank that there is not.
        """
        checks.whole("rank", rank, least=1, most=self.most)
        made = deepcopy(self.model)
        for block, layer in zip(made.blocks, self.layers, strict=True):
            block.attention = layer.layer(rank)
        made.config = replace(self.model.config, attention=self.layers[0].config(rank))
        made.mechanism = mechanisms.of(made.config.attention)
        return made


@torch.no_grad()
def averaged(model: LanguageModel) -> LanguageModel:
    """Return the model with the mean of all KV heads in each one's place: MQA (arXiv 1911.02150).

    Their keys and values are one, so that a cache of one KV head would hold them; how heads are
    made one before more training, as in arXiv 2305.13245.

    Raises:
        ValueError: a model that has a latent already.
    """
    made = deepcopy(model)
    for layer in grouped_layers(made):
        for weight in _weights(layer):
            weight.copy_(weight.mean(0, keepdim=True).expand_as(weight))
    return made
