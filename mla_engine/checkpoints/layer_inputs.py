"""The real input of an attention: from a text, or from a file that the reader saved.

The first attention reads normed rows of the embedding, nothing else of the model is needed. Deeper
ones need the layers before them, which transformers runs where memory allows. Everything is
computed in float32, whatever the weights are stored as.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from kvcount.files.config_json import entry
from kvcount.files.errors import CheckpointError
from kvcount.refusals import Phrase
from mla_engine import budget
from mla_engine.checkpoints.activations import read_activations
from mla_engine.checkpoints.checkpoint import Checkpoint, Progress, open_checkpoint
from mla_engine.checkpoints.convert import check_finite
from mla_engine.checkpoints.embedding import Inputs
from mla_engine.checkpoints.families import attention_config
from mla_engine.checkpoints.prefix import Prefix
from mla_engine.checkpoints.tokens import Tokens, tokenize

TIP = Phrase("less_deep")
# what runs at once, an estimate: vectors of d_model a token, and maps of every head
VECTORS, MAPS, FLOAT32_BYTES = 16, 3, 4


@dataclass(frozen=True, kw_only=True, eq=False)
class HiddenStates:
    """The input of an attention, after the norm before it."""

    h: Tensor  # [1,t,d], float32
    ids: tuple[int, ...]  # () where a file does not come with a text
    tokens: tuple[str, ...]  # to be drawn; untrusted, so escape them
    positions: tuple[int, ...]
    origin: str  # "embedding", "prefix" or "file"


@dataclass(frozen=True, kw_only=True)
class HiddenBytes:
    """The bytes that hidden states take, known from headers."""

    read_bytes: int  # from disk or from the Hub
    memory_bytes: int  # at the peak, an estimate
    origin: str


def hidden_bytes(
    source: str | Path | Checkpoint,
    text: str,
    layer: int,
    *,
    revision: str | None = None,
) -> HiddenBytes:
    """Return how much `hidden_states` of this text reads and holds; arguments as there."""
    inputs = _inputs(source, revision, layer)
    _check_computed(inputs)
    return _needed(inputs, tokenize(inputs.checkpoint, text), layer)


def hidden_states(
    source: str | Path | Checkpoint,
    text: str,
    layer: int,
    *,
    revision: str | None = None,
    activations: str | Path | bytes | None = None,
    progress: Progress | None = None,
) -> HiddenStates:
    """Return the input of one attention of a real model.

    Args:
        source: "owner/name" on the Hub, a folder, or an open checkpoint.
        text: what the model reads, by its own tokenizer; with a file it may be "".
        layer: counts attentions from 0; LongCat has two in each layer.
        revision: of a Hub repository.
        activations: a .safetensors file, or its bytes, with `h` [t,d] or [1,t,d].
        progress: called with bytes read and bytes in all; may raise to stop.

    Raises:
        CheckpointError: an unknown family or one whose inputs are not computed here, a layer out of
            range, no tokenizer.json, a text that is empty or too long, tensors that are missing or
            hold NaN or Inf, a file of another model.
        MemoryBudgetError: the layers before this one are beyond the memory budget.
    """
    if activations is not None:
        return _from_file(_inputs(source, revision, layer), text, layer, activations)
    [found] = hidden_states_of_layers(
        source, text, [layer], revision=revision, progress=progress
    ).values()
    return found


def hidden_states_of_layers(
    source: str | Path | Checkpoint,
    text: str,
    layers: Iterable[int],
    *,
    revision: str | None = None,
    progress: Progress | None = None,
) -> dict[int, HiddenStates]:
    """Return the inputs of several attentions by their number, by one run up to the deepest.

    Arguments and errors as `hidden_states`.
    """
    layers = list(layers)
    if not layers:
        raise CheckpointError("no_layers")
    checkpoint = open_checkpoint(source, revision)
    for layer in layers:
        inputs = _inputs(checkpoint, None, layer)
    _check_computed(inputs)
    tokens, deepest = tokenize(checkpoint, text), max(layers)
    needed = _needed(inputs, tokens, deepest).memory_bytes
    budget.require(needed, Phrase("input_of_layer", layer=deepest), TIP)
    x = inputs.embedded(tokens.ids, None if deepest else progress)
    found = {0: inputs.normed(x, 0)} if 0 in layers else {}
    if deepest:
        before = sorted(set(layers) - {0, deepest})
        found |= Prefix(inputs, deepest).run(x, before, progress)
    for layer, h in found.items():
        check_finite(f"the input of layer {layer}", h)
    return {
        layer: HiddenStates(
            h=found[layer].unsqueeze(0),
            ids=tokens.ids,
            tokens=tokens.tokens,
            positions=tuple(range(len(tokens.ids))),
            origin="prefix" if layer else "embedding",
        )
        for layer in layers
    }


def _inputs(source: str | Path | Checkpoint, revision: str | None, layer: int) -> Inputs:
    checkpoint = open_checkpoint(source, revision)
    attention_config(checkpoint.config, layer)  # raises for a layer that is not modelled
    return Inputs.of(checkpoint)


def _check_computed(inputs: Inputs) -> None:
    """Raise CheckpointError for a family that is not run here."""
    row, model_type = inputs.family.row, inputs.family.model_type
    if row.get("streams"):
        raise CheckpointError("streams", model_type=model_type)
    if (key := row.get("mixes")) and (value := entry(inputs.config, key)) is not None:
        raise CheckpointError("mixes", model_type=model_type, key=key, value=value)


def _needed(inputs: Inputs, tokens: Tokens, layer: int) -> HiddenBytes:
    config, n_tokens = attention_config(inputs.checkpoint.config, layer), len(tokens.ids)
    rows = inputs.rows_bytes(tokens.ids, config.d_model)
    held = FLOAT32_BYTES * VECTORS * n_tokens * config.d_model
    if layer == 0:
        norm = inputs.checkpoint.bytes_of(inputs.norm_tensors(layer).values())
        return HiddenBytes(read_bytes=rows + norm, memory_bytes=held, origin="embedding")
    prefix, maps = Prefix(inputs, layer), FLOAT32_BYTES * MAPS * config.n_heads * n_tokens**2
    return HiddenBytes(
        read_bytes=rows + prefix.read_bytes,
        memory_bytes=held + maps + prefix.memory_bytes(n_tokens),
        origin="prefix",
    )


def _from_file(
    inputs: Inputs, text: str, layer: int, activations: str | Path | bytes
) -> HiddenStates:
    """Return the states of a file, with its own tokens, else those of the text, else numbers."""
    d_model = attention_config(inputs.checkpoint.config, layer).d_model
    found = read_activations(activations, d_model, layer)
    numbers, ids, names = tuple(range(found.h.shape[1])), (), found.tokens
    if names is None and text:
        tokens = tokenize(inputs.checkpoint, text)
        ids, names = tokens.ids, tokens.tokens
        if len(ids) != len(numbers):
            raise CheckpointError("other_text", held=len(numbers), given=len(ids))
    return HiddenStates(
        h=found.h,
        ids=ids,
        tokens=names or tuple(map(str, numbers)),
        positions=numbers,
        origin="file",
    )
