"""A model of GQA as a model of MLA, each layer brought there after the training (`transmla`)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from mla_engine import checks
from mla_engine.language_model.accuracy import batch
from mla_engine.language_model.model import LanguageModel
from mla_engine.language_model.retrofit import grouped_layers
from mla_engine.language_model.texts import Text
from mla_engine.studies.transmla import Conversion, converted

__all__ = ["IntoMLA"]


@dataclass(frozen=True, eq=False)
class IntoMLA:
    """The MLA models of every rank that a model of MHA, GQA or MQA can become."""

    model: LanguageModel
    layers: tuple[Conversion, ...]

    @classmethod
    @torch.no_grad()
    def by_texts(cls, model: LanguageModel, texts: Sequence[Text]) -> "IntoMLA":
        """What loses least of the keys and values of some texts' words, layer by layer.

        Raises:
            ValueError: a model that has a latent already, or something that MLA has no place for.
        """
        layers = grouped_layers(model)
        words = batch(texts, model.config.words).tokens
        length = torch.tensor([len(text) for text in texts])
        spoken = torch.arange(words.shape[1]) < length[:, None]
        inputs = [block.attention.h[spoken] for block in model(words).blocks]
        pairs = zip(layers, inputs, strict=True)
        return cls(model, tuple(converted(layer, h.unsqueeze(0)) for layer, h in pairs))

    @property
    def most(self) -> int:
        """The rank from which the latents lose nothing."""
        return min(layer.most for layer in self.layers)

    def cached(self, rank: int) -> int:
        """Numbers that the model keeps of a token in a layer: the latent and k_R."""
        return rank + self.layers[0].config(rank).d_rope

    @torch.no_grad()
    def cut(self, rank: int) -> LanguageModel:
        """The model of MLA with latents of `rank` numbers; the first one stays as it is.

        Raises:
            ValueError: a rank that there is not.
        """
        checks.whole("rank", rank, least=1, most=self.most)
        config = replace(self.model.config, attention=self.layers[0].config(rank))
        made = LanguageModel(config, dtype=self.model.W_E.dtype)
        own = {name: w for name, w in self.model.state_dict().items() if ".attention." not in name}
        made.load_state_dict(own, strict=False)
        for block, layer in zip(made.blocks, self.layers, strict=True):
            block.attention = layer.layer(rank)
        return made
