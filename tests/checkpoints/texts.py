"""A text for the small models of every family, and what transformers feeds their attentions."""

import copy
from functools import cache

import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.checkpoints.models import MODELS, built, saved, seen_by
from tests.engine.samples import relative

TEXT = "the cat and the moon and the sea"
WORDS = {"the": 5, "cat": 17, "and": 3, "moon": 63, "sea": 9, "?": 11}
IDS = [WORDS[word] for word in TEXT.split()]


def add_tokenizer(folder):
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def folder_of(name, root, published=False):
    return add_tokenizer(saved(name, root, published))


@cache
def fed(name):
    """Return what each attention of their model reads, by its number."""
    return inputs_of(built(name), [MODELS[name].attention(built(name), n) for n in numbers(name)])


@cache
def fed_exactly(name):
    """The inputs of the same attentions, computed in float64."""
    model = copy.deepcopy(built(name)).double()
    return inputs_of(model, [MODELS[name].attention(model, n) for n in numbers(name)])


def as_exact_as_the_model(h, name, layer):
    """Tell whether h is within 1e-6 of the model's own float32, or nearer than that to float64.

    Both round, and how depends on the processor: LongCat's two sums alone differ by 1.3e-6.
    """
    own = fed(name)[layer]
    if relative(h, own) < 1e-6:
        return True
    exact = fed_exactly(name)[layer]
    return relative(h, exact) < min(1e-6, relative(own, exact))


def numbers(name):
    return range(4 if name == "longcat_flash" else 2)


def inputs_of(model, attentions):
    return [h for h, *_ in seen_by(attentions, lambda: model(torch.tensor([IDS])))]
