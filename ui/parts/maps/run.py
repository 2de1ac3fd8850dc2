"""One run of a layer over a reader's words: every tensor of some heads as float32 arrays."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from mla_engine import SYMBOLS, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs import weight_elements
from mla_engine.layer import AttentionLayer
from mla_engine.mechanism import Form
from mla_engine.ops import softmax
from mla_engine.trace import Trace
from ui.engine import queue, shared_cache
from ui.parts.maps import axes
from ui.sources import Source, layers, work

# Weights and scores that two cores draw and multiply in about a second, and the most that a run
# may take: the caches hold several of them.
QUICK_ELEMENTS, MOST_ELEMENTS = 24 * 2**20, 96 * 2**20
SCORES = 5  # arrays of the size of the scores that are kept of a run
WIDTH = torch.float32.itemsize


@dataclass(frozen=True)
class Run:
    """Some heads of a layer that run over some words.

    It holds none of what came out: the server keeps that for all sessions, and makes it again
    where it has gone. So a session may hold a run for as long as it lives.

    Args:
        config: the whole layer's configuration.
        form: its name in SYMBOLS.
        words: the tokens.
        source: of the weights and of what enters the layer.
        heads: global numbers.
    """

    config: AttentionConfig
    form: str
    words: tuple[str, ...]
    source: Source
    heads: tuple[int, ...]

    @property
    def tensors(self) -> Mapping[str, np.ndarray]:
        """The fields of the trace by their codes."""
        return _ran(self).tensors

    @property
    def logits(self) -> np.ndarray:
        """[h,t,s], scaled, soft-capped, not masked; of a state the weights of the values."""
        return _ran(self).logits

    @property
    def mask(self) -> np.ndarray:
        """Bool [t,s], True where a query attends to a key."""
        return _ran(self).mask

    @property
    def linear(self) -> bool:
        """True where a state is read: no softmax, no logits, weights of either sign."""
        return _form(self).read is not None

    @property
    def sinks(self) -> bool:
        """True where a row goes on behind its tokens, to a sink and perhaps pooled entries."""
        return self.config.sinks

    @property
    def pooled(self) -> bool:
        """True of a layer of DeepSeek-V4: a window, perhaps pooled entries, and a sink."""
        return self.config.has_entries

    @property
    def entries(self) -> int:
        """The number of pooled entries behind the tokens."""
        return len(self.tensors.get("members", ())) if self.sinks else 0

    @property
    def blocks(self) -> int:
        """The number of blocks of tokens that an indexer chooses among."""
        return 0 if self.sinks else len(self.tensors.get("members", ()))

    @property
    def steps(self) -> tuple[str, ...]:
        """Codes of the trace's fields, in the order of computation."""
        return tuple(self.tensors)

    @property
    def weights(self) -> tuple[str, ...]:
        """Codes of the parameters."""
        return _ran(self).weights

    @property
    def layer(self) -> AttentionLayer:
        """The layer of these heads."""
        return layers.layer(self.config, self.source, self.heads)

    def matrix(self, code: str, head: int) -> np.ndarray:
        """Return a trace field or a parameter as rows and columns: one batch, this head or KV head.

        Of a third axis what `cut` says.
        """
        made, places = code in self.tensors, {"b": 0, "h": self.heads.index(head)}
        places |= {"g": self.kv_place(head)} | self.cut(code, head)
        if made and "y" in places:
            places["y"] = axes.group_place(self.config, self.heads, head)
        index = tuple(places.get(axis, slice(None)) for axis in SYMBOLS[code].axes.split())
        if made:
            return np.atleast_2d(self.tensors[code][index])
        return np.atleast_2d(layers.to_numpy(self.layer.get_parameter(code)[index]))

    def axes(self, code: str) -> tuple[str, str]:
        """Return the letters of `matrix`; a vector is one row."""
        return axes.axes(self.config, code)

    def cut(self, code: str, head: int) -> dict[str, int]:
        """Return the letter of a third axis -> the place on it that `matrix` shows."""
        return axes.cut(self.config, code, head)

    def kv_place(self, head: int) -> int:
        """Return the place of a head's KV head among those run."""
        (kv_head,) = mechanisms.of(self.config).costs.kv_heads(self.config, (head,))
        return _ran(self).kv_heads.index(kv_head)

    @property
    def scores(self) -> Mapping[str, tuple[str, str]]:
        """The code of each part of the logits -> the codes of the query and key that make it."""
        every = _form(self).scores
        return {code: pair for code, pair in every.items() if code in self.tensors}

    def attention(self, causal: bool, temperature: float) -> np.ndarray:
        """Return softmax(logits / temperature) [h,t,s], masked or not; of a state the weights.

        Masked and at temperature 1 this is the engine's own attention, bit for bit.
        """
        return self.logits if self.linear else _attention(self, causal, temperature)


@dataclass(frozen=True, eq=False)
class Result:
    """The arrays of a run, read-only, as all sessions share them."""

    tensors: Mapping[str, np.ndarray]
    logits: np.ndarray
    mask: np.ndarray
    kv_heads: tuple[int, ...]
    weights: tuple[str, ...]


def block_of_heads(
    config: AttentionConfig, n_tokens: int, head: int, wanted: int
) -> tuple[int, ...]:
    """Return the block of neighbouring heads around `head` that is run, fewer of large ones.

    `wanted` 0 lets only the size decide, so that a run takes a moment.

    Blocks begin at multiples of their length, so that another head of a block needs no new run.
    """
    count = min(wanted or config.n_heads, config.n_heads)
    most = min(
        MOST_ELEMENTS if wanted else QUICK_ELEMENTS, shared_cache.page_budget_bytes() // WIDTH
    )
    while count > 1 and _elements(config, n_tokens, count) > most:
        count = (count + 1) // 2
    first = head // count * count
    return tuple(range(first, min(first + count, config.n_heads)))


def _elements(config: AttentionConfig, n_tokens: int, n_heads: int) -> int:
    weights = sum(weight_elements(config, range(n_heads)).values())
    return weights + _maps(config, n_heads) * n_tokens**2


def _maps(config: AttentionConfig, n_heads: int) -> int:
    """Return how many arrays [t,s] are kept of a run of so many heads, and of an indexer's."""
    return SCORES * n_heads + (config.n_index_heads or 0)


def run(
    config: AttentionConfig,
    form: str,
    words: tuple[str, ...],
    source: Source,
    heads: tuple[int, ...],
) -> Run:
    """Run these heads of a layer, if that was not done yet; arguments as of `Run`.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    operations = work.drawing(config, heads, source)
    work.require(operations + work.running(config, form, len(words), heads), work.FEWER_WORDS)
    made = Run(config, form, words, source, heads)
    _ran(made)
    return made


@shared_cache.cached(anywhere=True)
def _ran(one: Run) -> Result:
    layers.bring(one.config, one.source, one.heads)
    with queue.turn(), torch.inference_mode():
        layer = one.layer
        h = one.source.hidden(one.words, one.config.d_model)
        shared_cache.evict_for(WIDTH * _maps(one.config, len(one.heads)) * len(one.words) ** 2)
        trace = layers.run(layer, h, one.form)
        logits, seen = _columns(_form(one), layer, trace)
    arrays = {step: layers.to_numpy(getattr(trace, step)) for step in trace.steps}
    for array in (*arrays.values(), logits):
        array.flags.writeable = False
    parameters = tuple(name for name, _ in layer.named_parameters())
    return Result(arrays, logits, seen, layer.kv_heads, parameters)


def _columns(form: Form, layer: AttentionLayer, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the map's values [h,t,s] before a softmax, and the cells a query sees, bool [t,s]."""
    if form.read:
        told = form.read(layer, trace)
        seen = torch.ones(told.shape[2:], dtype=torch.bool).tril()
    elif layer.config.sinks:
        told, seen = form.columns(layer, trace)
        seen = seen[0]
    else:
        told = form.unmasked(layer, trace)
        seen = trace.visible.expand(trace.attention.shape)[0, 0]  # by each head alike
    return layers.to_numpy(told[0]), seen.cpu().numpy()


def _form(one: Run) -> Form:
    return layers.form_of(one.config, one.form)


@shared_cache.cached
def _attention(one: Run, causal: bool, temperature: float) -> np.ndarray:
    scores = torch.tensor(one.logits).div_(temperature)
    if causal:
        scores.masked_fill_(~torch.tensor(one.mask), -torch.inf)
    shares = layers.to_numpy(softmax(scores))
    shares.flags.writeable = False
    return shares
