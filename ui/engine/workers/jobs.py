"""All that a worker can be asked for: each job opens a checkpoint, and answers with plain values.

Opened checkpoints are kept for a while, so that the next question asks the Hub nothing.
"""

from pathlib import Path
from typing import Any

import torch
from cachetools import TTLCache

from kvcount.files.config_json import config_of, with_beside
from kvcount.files.folder import Files
from kvcount.files.local import local_files
from kvcount.files.repository import repository_files
from kvcount.files.stored_weights import Stored, stored
from kvcount.refusals import Phrase
from mla_engine import budget, checkpoints
from mla_engine.checkpoints import Checkpoint, HiddenBytes, HiddenStates, Plan
from mla_engine.checkpoints.checkpoint import Progress
from mla_engine.checkpoints.embedding import Inputs
from mla_engine.checkpoints.prefix import Prefix
from mla_engine.config import AttentionConfig

MOST_OPEN, OPEN_SECONDS = 4, 600
QUANTISED, MOST_LISTED = ("quantization_config", "quantization"), 1_000
Where = dict[str, Any]  # as `access.Place.where` has it
_open: TTLCache = TTLCache(MOST_OPEN, OPEN_SECONDS)


def plan(where: Where, progress: Progress, layer: int) -> Plan:
    """Say what the layer is, from headers."""
    return checkpoints.describe(_opened(where), layer)


def needed(where: Where, progress: Progress, text: str, layer: int) -> HiddenBytes:
    """Say what the layer's input reads and holds."""
    return checkpoints.hidden_bytes(_opened(where), text, layer)


def fetch(where: Where, progress: Progress, text: str | None, layer: int) -> None:
    """Bring what the layer and its input need to this machine, if it fits the memory budget.

    `text` is None where a file holds the input.
    """
    checkpoint = _opened(where)
    plan = checkpoints.describe(checkpoint, layer)
    what = Phrase("layer_of_model", layer=layer, name=plan.name)
    budget.require(plan.n_bytes, what, Phrase("smaller_model"))
    tensors = plan.tensors
    if text is not None:
        held = checkpoints.hidden_bytes(checkpoint, text, layer).memory_bytes
        budget.require(held, Phrase("input_of_layer", layer=layer), Phrase("less_deep"))
        tensors += tuple(Prefix(Inputs.of(checkpoint), layer).tensors) if layer else ()
    checkpoint.fetch(tensors, progress)


def inputs(
    where: Where, progress: Progress, text: str, layer: int, activations: str | None
) -> HiddenStates:
    """Return what enters the layer."""
    file = {"activations": Path(activations)} if activations else {}
    return checkpoints.hidden_states(_opened(where), text, layer, **file, progress=progress)


def inputs_of_layers(
    where: Where, progress: Progress, text: str, n_layers: int
) -> dict[int, torch.Tensor]:
    """Return what enters each of the first layers."""
    layers = range(n_layers)
    found = checkpoints.hidden_states_of_layers(_opened(where), text, layers, progress=progress)
    return {layer: states.h for layer, states in found.items()}


def attention(
    where: Where, progress: Progress, layer: int, heads: tuple[int, ...] | None, dtype: str
) -> tuple[AttentionConfig, dict[str, torch.Tensor]]:
    """Return the layer's configuration and weights."""
    made = {"heads": heads, "dtype": getattr(torch, dtype), "progress": progress}
    layer = checkpoints.load_attention(_opened(where), layer, **made)
    return layer.config, dict(layer.named_parameters())


def config(where: Where, progress: Progress) -> dict[str, Any]:
    """Return the config.json of a checkpoint of any kind, but for lists of quantised tensors."""
    files = _files(where)
    return _unlisted(with_beside(config_of(files), files))


def weights(where: Where, progress: Progress) -> Stored | None:
    """Say what the weights beside a config.json are, from headers; None without any."""
    files = _files(where)
    return stored(files, config_of(files))


def _unlisted(part: Any, *, quantised: bool = False) -> Any:
    """Leave out lists and tables of more than a thousand entries that say what is quantised."""
    if not isinstance(part, dict):
        return part
    return {
        key: _unlisted(value, quantised=quantised or key in QUANTISED)
        for key, value in part.items()
        if not (quantised and isinstance(value, list | dict) and len(value) > MOST_LISTED)
    }


JOBS = {
    job.__name__: job
    for job in (plan, needed, fetch, inputs, inputs_of_layers, attention, config, weights)
}


def _opened(where: Where) -> Checkpoint:
    key = tuple(where.items())
    if key not in _open:
        if where["is_folder"]:
            name, revision = Path(where["name"]), where["revision"] or None
            _open[key] = checkpoints.open_checkpoint(name, revision)
        else:
            _open[key] = Checkpoint(_files(where))
    return _open[key]


def _files(where: Where) -> Files:
    """Return the files of a folder, or of a repository as its owner or as anybody may read it."""
    if where["is_folder"]:
        return local_files(Path(where["name"]))
    bounds = {name: where[name] for name in ("quota_bytes", "hourly_bytes")}
    public = {"token": False, "folder": where["root"], **bounds}
    access = {} if where["quota_bytes"] is None else public
    return repository_files(where["name"], where["revision"] or None, **access)
