"""One run of a layer over a reader's words: every tensor of some heads as float32 arrays."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from mla_engine import SYMBOLS, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs import weight_elements
from mla_engine.ops import softmax
from ui.engine import layers, queue
from ui.engine.real_layer import Origin

# Weights and scores that two cores draw and multiply in about a second, and the most that a run
# may keep: the cache holds several of them.
QUICK_ELEMENTS, MOST_ELEMENTS = 24 * 2**20, 96 * 2**20
SCORES = 4  # arrays of the size of the scores that a run keeps


@dataclass(frozen=True, eq=False)
class Run:
    """What was run and what came out; `tensors` has trace fields and weights by their code."""

    config: AttentionConfig
    form: str
    words: tuple[str, ...]
    heads: tuple[int, ...]
    kv_heads: tuple[int, ...]
    steps: tuple[str, ...]
    tensors: Mapping[str, np.ndarray]
    logits: np.ndarray  # [h,t,s], scaled, soft-capped, not masked
    mask: np.ndarray  # bool [t,s]

    def matrix(self, code: str, head: int) -> np.ndarray:
        """A tensor as rows and columns: its one batch, this head, its KV head."""
        places = {"b": 0, "h": self.heads.index(head), "g": self.kv_place(head)}
        index = tuple(places.get(axis, slice(None)) for axis in SYMBOLS[code].axes.split())
        return np.atleast_2d(self.tensors[code][index])

    def axes(self, code: str) -> tuple[str, str]:
        """The letters of `matrix`; a vector is one row."""
        letters = [axis for axis in SYMBOLS[code].axes.split() if axis not in "bhg"]
        if getattr(self.config, "d_latent_q", None) is None:
            letters = ["d" if axis == "l" else axis for axis in letters]
        return (letters[0], letters[1]) if len(letters) == 2 else ("", letters[0])

    def kv_place(self, head: int) -> int:
        """Where the KV head of a head stands among those run."""
        (kv_head,) = mechanisms.of(self.config).costs.kv_heads(self.config, (head,))
        return self.kv_heads.index(kv_head)

    @property
    def scores(self) -> Mapping[str, tuple[str, str]]:
        """The code of each part of the logits -> the codes of the query and key that make it."""
        every = layers.form_of(self.config, self.form).scores
        return {code: pair for code, pair in every.items() if code in self.tensors}

    @property
    def weights(self) -> tuple[str, ...]:
        """Codes of the parameters."""
        return tuple(code for code in self.tensors if code not in self.steps)

    def attention(self, causal: bool, temperature: float) -> np.ndarray:
        """softmax(logits / temperature) [h,t,s], masked or not.

        Masked and at temperature 1 this is the engine's own attention, bit for bit.
        """
        scores = torch.tensor(self.logits).div_(temperature)
        if causal:
            scores.masked_fill_(~torch.tensor(self.mask), -torch.inf)
        return layers.to_numpy(softmax(scores))


def block_of_heads(
    config: AttentionConfig, n_tokens: int, head: int, wanted: int
) -> tuple[int, ...]:
    """The block of neighbouring heads around `head` that is run, fewer where they are large.

    `wanted` 0 lets the size decide alone, so that a run takes a moment.

    Blocks begin at multiples of their length, so that another head of a block needs no new run.
    """
    count = min(wanted or config.n_heads, config.n_heads)
    most = MOST_ELEMENTS if wanted else QUICK_ELEMENTS
    while count > 1 and _elements(config, n_tokens, count) > most:
        count = (count + 1) // 2
    first = head // count * count
    return tuple(range(first, min(first + count, config.n_heads)))


def _elements(config: AttentionConfig, n_tokens: int, n_heads: int) -> int:
    weights = sum(weight_elements(config, range(n_heads)).values())
    return weights + SCORES * n_heads * n_tokens**2


@st.cache_resource(max_entries=4, show_spinner=False)
def run(
    config: AttentionConfig,
    form: str,
    words: tuple[str, ...],
    origin: Origin,
    heads: tuple[int, ...],
) -> Run:
    """Run these heads of a layer; shared by all sessions, so its arrays are read-only.

    Args:
        config: the whole layer's configuration.
        form: its name in SYMBOLS.
        words: the tokens.
        origin: the seed of the weights and of the words' vectors, or a real layer.
        heads: global numbers.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    layer = layers.layer(config, origin, heads)
    h = layers.hidden(words, origin, config.d_model)
    with queue.turn(), torch.inference_mode():
        trace = layers.run(layer, h, form)
        logits = layers.to_numpy(layers.form_of(config, form).unmasked(layer, trace)[0])
    parameters = dict(layer.named_parameters())
    tensors = {step: getattr(trace, step) for step in trace.steps} | parameters
    arrays = {code: layers.to_numpy(tensor) for code, tensor in tensors.items()}
    mask = trace.mask.cpu().numpy()
    for array in (*arrays.values(), logits):
        array.flags.writeable = False
    return Run(config, form, words, heads, layer.kv_heads, trace.steps, arrays, logits, mask)
