"""Run and cut the trained model of the story with only the engine."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import torch

from mla_engine.language_model import LanguageModel, load_model, study
from mla_engine.language_model.cuts import (
    Change,
    effect,
    without_heads,
    without_minor_directions,
    without_rotary_key,
)
from mla_engine.language_model.model import ModelTrace
from mla_engine.language_model.study import Study
from ui.pages.trained_heads.run import ASKED, SEED
from ui.sources.trained import OWN

SHIPPED = Path(__file__).parents[2] / "assets" / "trained"
WORDS = OWN.split()
LAST, LAMP, BOAT, DAN = 8, 1, 7, 6  # places of words


@cache
def model(code: str = "mla") -> LanguageModel:
    return load_model(SHIPPED / f"{code}.safetensors")[0]


@cache
def measured() -> Study:
    return study.read(SHIPPED)


@cache
def trace(text: str = OWN, code: str = "mla") -> ModelTrace:
    with torch.inference_mode():
        return model(code)(torch.tensor([model(code).config.tokens(text)]))


def expected(text: str, code: str = "mla") -> str:
    """Return the next word that a model expects."""
    return model(code).config.words[trace(text, code).logits[0, -1].argmax()]


def attention(layer: int, head: int) -> torch.Tensor:
    """Return a head's attention over the first sentence [t,s]."""
    return trace().blocks[layer].attention.attention[0, head]


@cache
def changes(cut: str, *where: int) -> Mapping[str, Change]:
    """Return the changes that the page counts, over its own texts and number of texts."""
    made = {
        "head": lambda whole: without_heads(whole, where[0], where[1:]),
        "rotary": without_rotary_key,
        "rank": lambda whole: without_minor_directions(whole, *where),
    }[cut](model())
    return effect(model(), made, ASKED, SEED)
