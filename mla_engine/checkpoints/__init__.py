"""Real models: one attention layer out of a checkpoint, read without downloading the rest.

Only config.json, the index, a few headers and the byte ranges of the wanted tensors are read. No
code of a repository runs and no pickle file is opened. Names are imported on first use.
"""

from kvcount.files.errors import CheckpointError
from kvcount.lazy import public_names

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
__getattr__ = public_names(__name__, _HOME)
