"""Real models: one attention layer out of a checkpoint, read without downloading the rest.

Only config.json, the index, a few headers and the byte ranges of the wanted tensors are read. No
code of a repository runs and no pickle file is opened. Names are imported on first use.
"""

from importlib import import_module
from typing import Any

from kvcount.files.errors import CheckpointError

_HOME = {
    "Checkpoint": "checkpoint",
    "HiddenBytes": "layer_inputs",
    "HiddenStates": "layer_inputs",
    "Plan": "load",
    "TensorEntry": "safetensors_file",
    "attention_config": "families",
    "build_demo": "demo",
    "describe": "load",
    "follow_module": "live_model",
    "hidden_bytes": "layer_inputs",
    "hidden_states": "layer_inputs",
    "hidden_states_of_layers": "layer_inputs",
    "load_attention": "load",
    "open_checkpoint": "checkpoint",
    "tokenize": "tokens",
    "trace_module": "live_model",
}
__all__ = ["CheckpointError", *_HOME]


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
