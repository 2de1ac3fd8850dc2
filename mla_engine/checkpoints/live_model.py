"""The engine's trace of an attention inside a live transformers model."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from kvcount import checks
from kvcount.files.errors import CheckpointError
from kvcount.refusals import Phrase
from mla_engine import budget, mechanisms
from mla_engine.cache import DTYPES
from mla_engine.checkpoints import convert, live_cache
from mla_engine.checkpoints.families import Attentions, Family
from mla_engine.layer import AttentionLayer
from mla_engine.ops import causal_mask
from mla_engine.pooled import PooledConfig
from mla_engine.trace import Trace

CACHE = ("past_key_values", "cache")  # one input, which transformers 5.24 has renamed
TAKEN = ("input_ids", "inputs_embeds", "attention_mask", "position_ids", *CACHE)
CACHES = (*CACHE, "cache_params", "layer_past")  # as an attention calls its cache
NO_CACHE = ("cache_position", "use_cache")


class Followed(NamedTuple):
    """An attention of a model, and the engine's layer on the same weights."""

    module: nn.Module
    ours: AttentionLayer
    family: Family


class Call(NamedTuple):
    """The arguments that a model gives to its attention."""

    h: Tensor  # [b,t,d]
    positions: Tensor | None  # [t] or [b,t]
    mask: Any  # [b,1,t,s], [b,s] or None
    kept: bool  # whether there is a cache
    cache: Any  # its layer, if there is one yet
    chosen: Tensor | None  # [b,t,n], the keys that an earlier attention chose; -1: none


def trace_module(model: nn.Module, layer: int, inputs: Tensor | Mapping[str, Any]) -> Trace:
    """Return every intermediate of one attention of a model, from the model's own weights.

    Attention and output equal the model's own up to rounding: transformers makes its angles in
    float32, the engine in float64.

    Args:
        model: a model of transformers, of a family that the table knows, in eval mode.
        layer: counts attentions from 0; LongCat has two in each layer.
        inputs: token numbers [b,t], what a tokenizer returned, or the hidden states [b,t,d] that
            enter this attention. With tokens the model runs up to this attention and no further.
            Of names `input_ids`, `inputs_embeds`, `attention_mask`, `position_ids` and
            `past_key_values`, or `cache` for it, are taken: a step with a cache has the keys of
            the cache before those of its own tokens, of a sliding window the last ones. The cache
            stays as it is.

    Raises:
        CheckpointError: an unknown family, a layer out of range, a model in training mode or
            with quantised weights, an input of another name, padded inputs, a mask or positions
            that end the order of one text, a cache of fixed size or quantised, one that does not
            reach the attention or reaches it by a name that is not known, inputs that the model
            cannot run.
        ValueError, MemoryBudgetError: as the layer's `forward` and `decode`.
    """
    checks.kind("inputs", inputs, (Tensor, Mapping), Phrase("model_inputs"))
    followed = _followed(model, layer)
    if isinstance(inputs, Tensor) and inputs.is_floating_point():
        return followed.ours(inputs.to(followed.ours.device, followed.ours.dtype))
    return _traced(followed, _entering(model, followed.module, inputs))


@contextmanager
def follow_module(model: nn.Module, layer: int, each: Callable[[Trace], object]) -> Iterator[None]:
    """Give the trace of every run of one attention to `each`, while the model runs or generates.

    A trace has the new tokens as queries, and all tokens as keys.

    Args:
        model: as of `trace_module`.
        layer: as of `trace_module`.
        each: called with each trace just before the attention runs. A trace has keys and values of
            every token so far: of many steps keep only what is needed.

    Raises:
        CheckpointError: at the start and in each run as `trace_module`.
        ValueError, MemoryBudgetError: in each run as the layer's `forward` and `decode`.
    """
    followed = _followed(model, layer)

    def run(module: nn.Module, args: tuple, named: dict[str, Any]) -> None:
        with torch.no_grad():
            each(_traced(followed, _call(module, args, named)))

    handle = followed.module.register_forward_pre_hook(run, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _traced(followed: Followed, call: Call) -> Trace:
    """Return the trace of a call; CheckpointError unless it is of one text in its order."""
    ours = followed.ours
    cache = call.cache and live_cache.held(ours, followed.family.row, call.cache)
    held = 0 if cache is None else cache.length
    _check_causal(call.mask, ours)
    _check_one_text(None, call.positions)
    _check_counted(call.positions, ours, held)
    given = {"positions": call.positions}
    if call.chosen is not None and ours.config.index_shared:
        given["chosen"] = _choice(call, held)
    if cache is None:
        return ours(call.h, **given)
    forms = mechanisms.of(ours.config).forms
    trace, _ = ours.decode(call.h, cache, form=forms[0].name, **given)
    return trace


def _choice(call: Call, held: int) -> Tensor:
    """Return the choice of an earlier attention, bool [b,t,s], behind so many tokens held."""
    (batch, tokens), numbers = call.h.shape[:2], call.chosen.long()
    keys = held + tokens
    chosen = torch.zeros(batch, tokens, keys + 1, dtype=torch.bool, device=numbers.device)
    return chosen.scatter(-1, numbers.where(numbers >= 0, keys), True)[..., :keys]


def _followed(model: nn.Module, layer: int) -> Followed:
    """Return the model's attention with the engine's layer on its weights."""
    if model.training:
        raise CheckpointError("training_mode")
    if not hasattr(model, "config"):
        raise CheckpointError("model_config", kind=type(model).__name__)
    found = model.config.to_dict()
    attentions = Attentions(found)
    config, family = attentions.config(layer), attentions.family(layer).live
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
    place = like.dtype, like.device
    return Followed(module, convert.build(family, config, tensors.__getitem__, None, place), family)


class _ReachedError(Exception):
    """The attention has its inputs, which ends the model's run."""


def _entering(model: nn.Module, module: nn.Module, inputs: Tensor | Mapping[str, Any]) -> Call:
    """Return what enters the attention when the model runs up to it."""
    given = _given(inputs)
    name = next((name for name in CACHE if name in given), None)
    if name:
        cache = live_cache.copied(given.pop(name), module.layer_idx)
        given[_takes_as(model, name)] = cache
    device = next(model.parameters()).device
    given = {n: x.to(device) if isinstance(x, Tensor) else x for n, x in given.items()}
    caught: list[Call] = []

    def catch(module: nn.Module, args: tuple, named: dict[str, Any]) -> None:
        call = _call(module, args, named)
        if name and not call.kept:
            raise CheckpointError("cache_lost", kind=type(module).__name__)
        caught.append(call)
        raise _ReachedError

    handle = module.register_forward_pre_hook(catch, with_kwargs=True)
    try:
        with torch.no_grad():
            model(**given, use_cache=name is not None)
    except _ReachedError:
        pass
    except CheckpointError:
        raise
    except Exception as error:  # a model has errors of many kinds
        raise CheckpointError("cannot_run", reason=error) from error
    finally:
        handle.remove()
    if not caught:
        raise CheckpointError("not_called", kind=type(module).__name__)
    return caught[0]


def _given(inputs: Tensor | Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs by name; CheckpointError for one that is not taken or not of one text."""
    named = {"input_ids": inputs} if isinstance(inputs, Tensor) else inputs
    given = {name: value for name, value in named.items() if value is not None}
    if others := [str(name) for name in given if name not in TAKEN]:
        raise CheckpointError("not_taken", names=", ".join(others), taken=", ".join(TAKEN))
    _check_one_text(given.get("attention_mask"), given.get("position_ids"))
    caches = [name for name in CACHE if name in given]
    if len(caches) > 1:
        raise CheckpointError("two_caches", names=", ".join(caches))
    for name in caches:
        live_cache.check_cache(given[name], name)
    return given


def _takes_as(model: nn.Module, name: str) -> str:
    """Return what a model's forward calls its cache, `name` where it names none."""
    named = signature(model.forward).parameters
    return next((one for one in CACHES if one in named), name)


def _call(module: nn.Module, args: tuple, named: dict[str, Any]) -> Call:
    named = dict(zip(signature(module.forward).parameters, args, strict=False)) | named
    positions = named.get("position_ids")
    if positions is not None and positions.dim() == 3:  # by time, height and width
        if not bool((positions == positions[0]).all()):
            raise CheckpointError("positions_of_pictures")
        positions = positions[0]
    if positions is not None and len(positions) == 1:
        positions = positions[0]
    if positions is not None and bool((positions == positions.round()).all()):
        positions = positions.long()  # Qwen3-Omni counts in float32
    cache = _cache(module, named)
    layers = cache.layers if cache is not None else []
    held = layers[module.layer_idx] if module.layer_idx < len(layers) else None
    h = args[0] if args else named["hidden_states"]
    mask, chosen = named.get("attention_mask"), named.get("prev_topk_indices")
    return Call(h, positions, mask, cache is not None, held, chosen)


def _cache(module: nn.Module, named: Mapping[str, Any]) -> Any:
    """Return the cache that an attention is called with, None if there is none.

    Raises:
        CheckpointError: a cache by a name that is not known, or of a kind without layers.
    """
    kind = type(module).__name__
    if others := [name for name, one in named.items() if name not in CACHES and _keeps(name, one)]:
        raise CheckpointError(
            "unknown_cache", kind=kind, names=", ".join(others), known=", ".join(CACHES)
        )
    name = next((name for name in CACHES if named.get(name) is not None), None)
    if name is None:
        return None
    live_cache.check_layers(named[name], name)
    return named[name]


def _keeps(name: str, given: object) -> bool:
    """Tell whether an argument is a cache, by what it can do or else by its name."""
    if live_cache.is_cache(given):
        return True
    kept = "cache" in name or "past" in name
    return kept and name not in NO_CACHE and not isinstance(given, int | None)


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


def _check_causal(mask: Any, ours: AttentionLayer) -> None:
    """Raise CheckpointError unless the mask that the attention gets shows what the engine's does.

    With sdpa there may be none, or one of the keys [b,s], else it is [b,1,t,s] of bool or added.
    """
    if isinstance(mask, Tensor) and mask.dim() == 4:
        seen = mask if mask.dtype == torch.bool else mask == 0
        window, sides = ours.config.window, (mask.shape[-1], mask.shape[-2])
        wanted = causal_mask(*sides, window=window, device=mask.device)
        if not bool((seen == wanted).all()):
            raise CheckpointError("padded")
    elif mask is not None and not isinstance(mask, Tensor):
        raise CheckpointError("mask_kind", kind=type(mask).__name__)
    else:
        _check_one_text(mask, None)


def _check_counted(positions: Tensor | None, ours: AttentionLayer, held: int) -> None:
    """Raise CheckpointError for positions beside the tokens' numbers, where these tell blocks.

    transformers finds the entries that a query of DeepSeek-V4 sees by its position.
    """
    if positions is None or ours.config_type is not PooledConfig or not ours.config.pooling:
        return
    first = positions[..., 0].unique().tolist()
    if first != [held]:
        raise CheckpointError("positions_of_blocks", first=first, held=held)
