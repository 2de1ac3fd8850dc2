"""The engine's trace of an attention inside a live transformers model."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from mla_engine import budget, checks
from mla_engine.cache import DTYPES
from mla_engine.checkpoints import convert
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.families import attention_config, family_at
from mla_engine.layer import AttentionLayer
from mla_engine.refusals import Phrase
from mla_engine.trace import Trace

TAKEN = ("input_ids", "inputs_embeds", "attention_mask", "position_ids")  # of a tokenizer's answer


def trace_module(model: nn.Module, layer: int, inputs: Tensor | Mapping[str, Tensor]) -> Trace:
    """Return every intermediate of one attention of a model, from the model's own weights.

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
    if model.training:
        raise CheckpointError("training_mode")
    checks.kind("inputs", inputs, (Tensor, Mapping), Phrase("model_inputs"))
    module, ours = _twin(model, layer)
    if isinstance(inputs, Tensor) and inputs.is_floating_point():
        return ours(inputs.to(ours.device, ours.dtype))
    h, positions = _entering(model, module, inputs)
    return ours(h, positions=positions)


def _twin(model: nn.Module, layer: int) -> tuple[nn.Module, AttentionLayer]:
    """Return the model's attention, and the engine's layer on the same weights."""
    if not hasattr(model, "config"):
        raise CheckpointError("model_config", kind=type(model).__name__)
    found = model.config.to_dict()
    config, family = attention_config(found, layer), family_at(found, layer).live
    path = family.attention(layer).removesuffix(".")
    modules = dict(model.named_modules())
    module = next((modules[p + path] for p in convert.PREFIXES if p + path in modules), None)
    if module is None:
        raise CheckpointError("no_module", kind=type(model).__name__, path=path)
    cuts = convert.cuts_of(family, config)
    held = {name: parameter.detach() for name, parameter in module.named_parameters()}
    convert.check_nothing_else(family, f"{path}.", set(held) - {cut.name for cut in cuts})
    if missing := [cut.name for cut in cuts if cut.name not in held]:
        raise CheckpointError("module_lacks", path=path, missing=", ".join(missing))
    tensors = {cut.name: held[cut.name] for cut in cuts}
    if {tensor.dtype for tensor in tensors.values()} - set(DTYPES):
        raise CheckpointError("quantised", path=path)
    for cut in cuts:
        convert.check_shape(cut.name, tensors[cut.name].shape, cut, config)
    copied = sum(tensor.nbytes for tensor in tensors.values())
    budget.require(copied, Phrase("copy", path=path), Phrase("smaller_model"))
    like = tensors[cuts[0].name]
    return module, convert.build(
        family, config, tensors.__getitem__, None, (like.dtype, like.device)
    )


class _ReachedError(Exception):
    """The attention has its inputs, which ends the model's run."""


def _entering(
    model: nn.Module, module: nn.Module, inputs: Tensor | Mapping[str, Tensor]
) -> tuple[Tensor, Tensor | None]:
    """Return what enters the attention: hidden states [b,t,d] and positions [t] or [b,t]."""
    given = {"input_ids": inputs} if isinstance(inputs, Tensor) else inputs
    given = {name: given[name] for name in TAKEN if name in given}
    _check_one_text(given.get("attention_mask"), given.get("position_ids"))
    device = next(model.parameters()).device
    given = {name: value.to(device) for name, value in given.items()}
    caught: list[tuple[Tensor, Tensor | None]] = []

    def catch(_: nn.Module, args: tuple, named: dict[str, Any]) -> None:
        h = args[0] if args else named["hidden_states"]
        positions = named.get("position_ids")
        shared = positions is not None and len(positions) == 1
        caught.append((h, positions[0] if shared else positions))
        raise _ReachedError

    handle = module.register_forward_pre_hook(catch, with_kwargs=True)
    try:
        with torch.no_grad():
            model(**given, use_cache=False)
    except _ReachedError:
        pass
    except Exception as error:  # a model has errors of many kinds
        raise CheckpointError("cannot_run", reason=error) from error
    finally:
        handle.remove()
    if not caught:
        raise CheckpointError("not_called", kind=type(module).__name__)
    return caught[0]


def _check_one_text(mask: Tensor | None, positions: Tensor | None) -> None:
    """Raise CheckpointError unless every query sees itself and all before it, and no more.

    transformers takes a mask [b,1,t,s] as it stands, and a jump of positions for another text.
    """
    if mask is not None and mask.dim() != 2:
        raise CheckpointError("mask_shape", shape=list(mask.shape))
    if mask is not None and not bool(mask.all()):
        raise CheckpointError("padded")
    if positions is not None and not bool((positions.diff() == 1).all()):
        raise CheckpointError("positions_jump")
