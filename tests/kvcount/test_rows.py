"""The rows of kvcount/data/models.toml: whole, consistent, and the library's where they say so."""

import re
from collections import Counter
from typing import Any

import pytest
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from kvcount import MODELS, Published, read
from kvcount.dtypes import TYPES
from kvcount.models import named
from mla_engine.presets import PRESETS

OTHER_LAYERS = "alternating local and global layers"
WITH_CONFIG = {key: one.row["config"] for key, one in MODELS.items() if "config" in one.row}
DEFAULTS = re.compile(r"^transformers 5\.23\.0 configuration defaults for checkpoint \S+ \((\w+)\)")
LISTED = {"layer_types", "linear_attn_config"}  # spelled out in a row, derived in the library
OF_LIBRARY = {
    key: match.group(1)
    for key, config in WITH_CONFIG.items()
    if (match := DEFAULTS.match(MODELS[key].source)) and not LISTED & config.keys()
}
NAMES = ("max_position_embeddings", "model_max_length", "n_positions")


def n_layers(row: dict[str, Any]) -> int:
    """Layers by the row, or by its config, or by the list that has one entry a layer."""
    if "n_layers" in row:
        return row["n_layers"]
    config = row["config"]
    counts = [
        config[name] for name in ("num_hidden_layers", "num_layers", "n_layer") if name in config
    ]
    return counts[0] if counts else len(config["layers_block_type"])


def test_there_are_at_least_sixty_configurations():
    assert len(MODELS) >= 60
    assert len(WITH_CONFIG) >= 100
    assert set(PRESETS) <= set(MODELS)


@pytest.mark.parametrize("key", MODELS)
def test_a_row_is_whole(key: str):
    one = MODELS[key]
    assert key == key.lower()
    assert one.name
    assert re.search(r"@[0-9a-f]{6,}|5\.23|config\.json|model\.py|report", one.source)
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", one.repository)
    assert set(one.notes) in (set(), {"en", "zh"})
    assert all(text.strip() == text and text for text in one.notes.values())
    assert set(one.storage.values()) <= set(TYPES)
    assert one.parameters is None or one.parameters > 10**8
    assert "config" in one.row or OTHER_LAYERS not in one.row.get("not_modelled", ())


@pytest.mark.parametrize("key", MODELS)
def test_every_layer_is_counted_once(key: str):
    one = MODELS[key]
    layers = one.model().layers
    caches = one.row.get("n_caches", n_layers(one.row)) if "config" not in one.row else None
    assert len(layers) == (caches or n_layers(one.row))
    if "n_caches" in one.row and "config" in one.row:
        growing = [layer for layer in layers if any(p.growth == "grows" for p in layer.parts)]
        beside = [other["n_layers"] for other in one.row.get("beside", ()) if _grows(other)]
        assert len(growing) == one.row["n_caches"] + sum(beside)


def _grows(row: dict[str, Any]) -> bool:
    """Not a state, and not only a window."""
    return bool(row.get("pooled", {}).get("pooling"))


def test_lists_have_an_entry_for_each_layer_or_for_mtp_too():
    for key, config in WITH_CONFIG.items():
        listed = {name: found for name, found in config.items() if isinstance(found, list)}
        extra = config.get("num_nextn_predict_layers", 0)
        for found in (found for name, found in listed.items() if not name.endswith("_ids")):
            assert n_layers(MODELS[key].row) <= len(found) <= n_layers(MODELS[key].row) + extra


def test_repositories_are_named_once_and_contexts_are_those_of_the_config():
    counts = Counter(one.repository for one in MODELS.values())
    assert [name for name, n in counts.items() if n > 1] == []
    for key, config in WITH_CONFIG.items():
        given = {config[name] for name in NAMES if name in config}
        assert given <= {MODELS[key].row.get("max_context")}, key


@pytest.mark.parametrize(("key", "model_type"), OF_LIBRARY.items())
def test_rows_of_the_librarys_defaults_are_its_defaults(key: str, model_type: str):
    config = WITH_CONFIG[key]
    other = CONFIG_MAPPING[config["model_type"]]()
    assert config["model_type"] == model_type
    given = {name: value for name, value in config.items() if name != "head_dim"}  # rewritten there
    assert {name: getattr(other, name) for name in given} == given


@pytest.mark.parametrize("key", [key for key in WITH_CONFIG if key in PRESETS])
def test_a_config_agrees_with_the_layer_of_its_row(key: str):
    config, layer = WITH_CONFIG[key], PRESETS[key].config
    assert config["num_hidden_layers"] == PRESETS[key].n_layers
    assert config["num_attention_heads"] == layer.n_heads
    assert config["hidden_size"] == layer.d_model
    if "compress_ratios" in config:
        assert (config["head_dim"], config["q_lora_rank"]) == (layer.d_head, layer.d_latent_q)
    elif "kv_lora_rank" in config:
        assert (config["kv_lora_rank"], config["qk_rope_head_dim"]) == (
            layer.d_latent_kv,
            layer.d_rope,
        )
    else:
        assert (config["num_key_value_heads"], config["head_dim"]) == (
            layer.n_kv_heads,
            layer.d_head,
        )


def test_gpt_j_calls_its_sizes_otherwise():
    other = CONFIG_MAPPING["gptj"]()
    layers = read(other.to_dict()).layers
    assert len(layers) == other.num_hidden_layers
    width = {part.name: part.numbers for part in layers[0].parts}
    assert width == {"key": other.hidden_size, "value": other.hidden_size}


@pytest.mark.parametrize(
    ("window", "context", "growth"),
    [(2047, 4096, "window"), (262_144, 131_072, "grows"), (None, 4096, "grows")],
)
def test_a_window_no_shorter_than_the_context_is_none(window: int, context: int, growth: str):
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = {"model_type": "phi3", "hidden_size": 32, "max_position_embeddings": context} | sizes
    (layer,) = read(config | {"sliding_window": window}).layers
    assert {part.growth for part in layer.parts} == {growth}


def test_published_rows_are_found_by_key_and_by_repository():
    found = named("moonshotai/Kimi-K3")
    assert isinstance(found, Published)
    assert found is named("kimi-k3")
