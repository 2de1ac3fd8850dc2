"""The weights of stored models, against transformers' own classes, which hold no numbers here."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from kvcount import MODELS
from tests.sampling import some

SIZES = tomllib.loads((Path(__file__).parent / "sizes.toml").read_text("utf-8"))
USED = ("num_experts_per_tok", "top_k_experts", "moe_k", "num_experts_per_token", "moe_topk")
AMONG = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
NO_ARGUMENT = {"falcon": {"head_dim"}}  # what the class derives
ON_8 = ("--gpus", "8")


def built(key: str) -> nn.Module:
    """The model by its row and its sizes, without memory for its weights."""
    one = MODELS[key]
    layers = {"num_hidden_layers": one.row["n_layers"]} if "n_layers" in one.row else {}
    given = layers | dict(one.config) | SIZES[key]
    given = {name: None if value == "null" else value for name, value in given.items()}
    model_type = given.pop("model_type")
    derived = NO_ARGUMENT.get(model_type, ())
    kept = {name: value for name, value in given.items() if name not in derived}
    config = CONFIG_MAPPING[model_type](**kept)
    auto, own = transformers.AutoModelForCausalLM, type(config).__name__.replace("Config", "")
    with torch.device("meta"):
        known = type(config) in auto._model_mapping
        model = (
            auto.from_config(config)
            if known
            else getattr(transformers, own + "ForCausalLM")(config)
        )
    model.tie_weights()
    return model


def first(config: Any, names: tuple[str, ...]) -> int | None:
    found = (getattr(config, name, None) for name in names)
    return next((n for n in found if isinstance(n, int) and n), None)


@pytest.mark.parametrize("key", some(SIZES, 10))
def test_weights_are_what_the_library_builds(key: str):
    model, one = built(key), MODELS[key]
    weights, head = dict(model.named_parameters()), model.get_output_embeddings()
    total = sum(weight.numel() for weight in weights.values())
    routed = sum(weight.numel() for name, weight in weights.items() if ".experts." in name)
    rows = [part.weight for part in model.modules() if isinstance(part, nn.Embedding)]
    tables = sum(weight.numel() for weight in rows if weight is not head.weight)
    assert not one.rounded
    assert one.parameters == total
    assert one.row.get("tables", 0) == tables
    assert (one.routed or 0) == routed
    if routed:
        assert one.row["experts"] == [first(model.config, USED), first(model.config, AMONG)]


def test_each_other_stored_number_is_said_to_be_rounded():
    assert {key for key, one in MODELS.items() if one.rounded} == {*MODELS} - {*SIZES}


@pytest.mark.parametrize(
    ("key", "published"),
    [
        ("llama-2-7b", 6_738_415_616), ("llama-3-70b", 70_553_706_496),
        ("qwen2.5-7b", 7_615_616_512), ("gemma-7b", 8_537_680_896),
        ("mixtral-8x7b", 46_702_792_704), ("deepseek-v2", 235_741_434_880),
        ("minimax-m1", 456_089_655_296), ("exaone-3.5-7.8b", 7_818_448_896),
        ("qwen3.5-0.8b", 752_393_024), ("granite-4.0-h-micro", 3_191_396_096),
    ],
)  # fmt: skip
def test_weights_are_what_others_have_published(key: str, published: int):
    assert MODELS[key].parameters == published


def test_the_cache_command_prints_no_rounded_weight_as_exact(cache):
    told = "weights in bf16 take about 700 GB of each"
    assert any(told in line and "a rounded one" in line for line in cache("kimi-k3", *ON_8).lines)
    assert cache("kimi-k3", *ON_8, "--json").found["gpus"]["parameters_rounded"] is True
    for counted in (("deepseek-v3",), ("kimi-k3", "--parameters", "2.8e12")):
        assert "about" not in cache(*counted, *ON_8).out
        assert cache(*counted, *ON_8, "--json").found["gpus"]["parameters_rounded"] is False
