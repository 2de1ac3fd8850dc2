"""A model in one safetensors file, its configuration and its card among the file's metadata."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kvcount.files.errors import CheckpointError, unreadable
from kvcount.lazy import LazyModule
from kvcount.refusals import Phrase
from mla_engine import mechanisms
from mla_engine.config import RopeConfig
from mla_engine.language_model.config import ModelConfig
from mla_engine.language_model.model import LanguageModel

__all__ = ["dump", "load_model", "parse", "save_model"]

safetensors, tensors = LazyModule("safetensors"), LazyModule("safetensors.torch")

FORMAT = "mla-explorer language model 1"
LENGTH_BYTES = 8


def save_model(
    model: LanguageModel,
    path: str | Path,
    card: dict[str, Any],
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write a model with its card, whole or not at all."""
    path = Path(path)
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(dump(model, card, dtype))
    unfinished.replace(path)


def load_model(path: str | Path) -> tuple[LanguageModel, dict[str, Any]]:
    """Return the model of a file, in float32, and its card.

    Raises:
        CheckpointError: no such file, a damaged one, or one that is no model of this kind.
    """
    with unreadable(str(path)):
        content = Path(path).read_bytes()
    return parse(content, Path(path).name)


def dump(model: LanguageModel, card: dict[str, Any], dtype: torch.dtype = torch.float32) -> bytes:
    """Return the bytes of the file."""
    weights = {name: w.detach().to(dtype).contiguous() for name, w in model.state_dict().items()}
    about = {"config": as_json(model.config), "card": card}
    return tensors.save(weights, {"format": FORMAT, "about": json.dumps(about, ensure_ascii=False)})


def parse(content: bytes, name: str) -> tuple[LanguageModel, dict[str, Any]]:
    """Return the model that such bytes hold, in float32, and its card; `name` is for refusals.

    Raises:
        CheckpointError: as `load_model`.
    """
    about, weights = _about(content, name), _tensors(content, name)
    try:
        model = LanguageModel(of_json(about["config"]), device="meta")
        card = about["card"]
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError("not_a_model", name=name, reason=error) from error
    _check_shapes(model, weights, name)
    filled = {key: weight.float() for key, weight in weights.items()}
    model.load_state_dict(filled, assign=True)
    return model.requires_grad_(False), card


def as_json(config: ModelConfig) -> dict[str, Any]:
    """Return a configuration as plain values; `of_json` reads it."""
    mechanism = mechanisms.of(config.attention).key
    return asdict(config) | {"mechanism": mechanism, "words": " ".join(config.words)}


def of_json(values: dict[str, Any]) -> ModelConfig:
    """Return the configuration that `as_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: values that are none of a configuration.
    """
    values = dict(values)
    attention, kind = dict(values.pop("attention")), values.pop("mechanism")
    attention["rope"] = attention["rope"] and RopeConfig(**attention["rope"])
    made = mechanisms.named(kind).config_type(**attention)
    return ModelConfig(**values | {"attention": made, "words": tuple(values["words"].split())})


def _about(content: bytes, name: str) -> dict[str, Any]:
    length = int.from_bytes(content[:LENGTH_BYTES], "little")
    try:
        header = json.loads(content[LENGTH_BYTES : LENGTH_BYTES + length])
        metadata = header.get("__metadata__", {})
        if metadata.get("format") != FORMAT:
            reason = Phrase("another_format", wanted=FORMAT)
            raise CheckpointError("not_a_model", name=name, reason=reason)
        return json.loads(metadata["about"])
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError("not_a_model", name=name, reason=Phrase("no_header")) from error


def _tensors(content: bytes, name: str) -> dict[str, Tensor]:
    try:
        return tensors.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError("not_a_model", name=name, reason=error) from error


def _check_shapes(model: LanguageModel, weights: dict[str, Tensor], name: str) -> None:
    wanted = {key: list(weight.shape) for key, weight in model.state_dict().items()}
    given = {key: list(weight.shape) for key, weight in weights.items()}
    for key in wanted | given:
        if wanted.get(key) != given.get(key):
            reason = Phrase(
                "other_weight",
                weight=key,
                wanted=wanted.get(key, Phrase("no_weight")),
                given=given.get(key, Phrase("nothing")),
            )
            raise CheckpointError("not_a_model", name=name, reason=reason)
    broken = [key for key, weight in weights.items() if not weight.isfinite().all()]
    if broken:
        raise CheckpointError("not_a_model", name=name, reason=Phrase("broken_weights"))
