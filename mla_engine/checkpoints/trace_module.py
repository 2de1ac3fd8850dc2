"""The engine's trace of an attention inside a live transformers model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mla_engine.late import Late

if TYPE_CHECKING:
    from torch import Tensor, nn

    from mla_engine.trace import Trace

live_model = Late("mla_engine.checkpoints.live_model")


def trace_module(
    model: "nn.Module", layer: int, inputs: "Tensor | Mapping[str, Tensor]"
) -> "Trace":
    """Every intermediate of one attention of a model, from the model's own weights.

    Attention and output equal the model's own up to rounding: transformers makes its angles in
    float32, the engine in float64.

    Args:
        model: a model of transformers, of a family that the table knows, in eval mode.
        layer: counts attentions from 0; LongCat has two in each layer.
        inputs: token numbers [b,t], what a tokenizer returned, or the hidden states [b,t,d] that
            enter this attention. With tokens the model runs up to this attention and no further.

    Raises:
        CheckpointError: an unknown family, a layer out of range, a model in training mode or
            with quantised weights, padded inputs, a mask or positions that end the order of one
            text, inputs that the model cannot run.
        ValueError, MemoryBudgetError: as the layer's `forward`.
    """
    return live_model.traced(model, layer, inputs)
