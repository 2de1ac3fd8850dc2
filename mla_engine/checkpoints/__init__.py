"""Real models: one attention layer out of a checkpoint, read without downloading the rest.

Only config.json, the index, a few headers and the byte ranges of the wanted tensors are read. No
code of a repository runs and no pickle file is opened. Names are imported on first use.
"""

from importlib import import_module
from typing import Any

from mla_engine.checkpoints.trace_module import trace_module

_HOME = {
    "Checkpoint": "source",
    "CheckpointError": "errors",
    "HiddenBytes": "hidden",
    "HiddenStates": "hidden",
    "Plan": "load",
    "TensorEntry": "safetensors_file",
    "attention_config": "families",
    "build_demo": "demo",
    "describe": "load",
    "hidden_bytes": "hidden",
    "hidden_states": "hidden",
    "hidden_states_of_layers": "hidden",
    "load_attention": "load",
    "make_room": "disk",
    "open_checkpoint": "opening",
    "open_repository": "opening",
    "tokenize": "tokens",
}
__all__ = [*_HOME, "trace_module"]  # which is imported at once: its module has the same name


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
