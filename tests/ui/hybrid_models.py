"""Small Kimi-Linear and Ling-3, as transformers builds and saves them."""

import shutil
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, BailingHybridConfig, KimiLinearConfig

from tests.checkpoints.models import HYBRID, LINEAR, LING

FOUR = {"num_hidden_layers": 4, "vocab_size": 800, "head_dim": 12}
CONFIGS = {
    "kimi": KimiLinearConfig(
        **HYBRID | LINEAR | FOUR | {"layer_types": ["linear_attention"] * 3 + ["full_attention"]}
    ),
    "ling": BailingHybridConfig(**HYBRID | LING | FOUR | {"layer_group_size": 4}),
}


def saved(demo: Path) -> dict[str, str]:
    """Save each in a folder beside the demonstration model, with that one's tokenizer."""
    found = {}
    for name, config in CONFIGS.items():
        torch.manual_seed(5)
        folder = demo.parent / name
        model = AutoModelForCausalLM.from_config(config).requires_grad_(False)
        for key, parameter in model.named_parameters():
            if key.endswith("A_log"):
                parameter.uniform_(-3, 1)  # heads that forget at once, and others that do not
            if key.endswith("dt_bias"):
                parameter.uniform_(-2, 2)
        model.save_pretrained(folder)
        shutil.copy(demo / "tokenizer.json", folder)
        found[name] = str(folder)
    return found
