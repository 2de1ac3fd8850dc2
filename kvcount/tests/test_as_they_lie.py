"""Files as they lie on people's disks: saved again, with keys left out, of new types."""

import json

import pytest

from kvcount import MODELS, Layer, Placing, Storage, UncountedError, read
from kvcount.refusals import RefusedError
from kvcount.sources import find

BF16 = Storage()
EVERY_SIXTH = (["sliding_attention"] * 5 + ["full_attention"]) * 10
GEMMA_4_31B = {  # saved again by transformers 5.15 or later: the global_... keys are gone
    "model_type": "gemma4_text", "hidden_size": 5376, "num_hidden_layers": 60,
    "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256, "sliding_window": 1024,
    "layer_types": EVERY_SIXTH, "attention_k_eq_v": True, "num_kv_shared_layers": 0,
    "per_layer_config": {
        f"{n:02}": {"head_dim": 512, "num_key_value_heads": 4} for n in range(5, 60, 6)
    },
}  # fmt: skip
LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128,
}  # fmt: skip
PRUNED = LLAMA | {"per_layer_config": {str(n): {"num_key_value_heads": 2} for n in range(8, 24)}}
LING_3 = {  # its head_dim is the rotary width now
    "model_type": "bailing_hybrid", "hidden_size": 2560, "num_hidden_layers": 42,
    "num_attention_heads": 32, "num_key_value_heads": 32, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "head_dim": 64,
    "linear_head_dim": 128, "linear_num_heads": 32, "linear_conv_kernel_dim": 4,
    "short_conv_kernel_size": 4, "layer_group_size": 6,
    "layer_types": (["linear_attention"] * 5 + ["full_attention"]) * 7,
}  # fmt: skip
EXAONE_4 = {
    "model_type": "exaone4", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "sliding_window": 4096,
    "sliding_window_pattern": 4, "max_position_embeddings": 2048,
}  # fmt: skip
DORY = {
    "model_type": "dory", "num_hidden_layers": 72, "hidden_size": 2560, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 1024, "n_input_layers": 16,
    "layer_types": (["sliding_attention", "mlp"] * 3 + ["full_attention", "mlp"]) * 9,
    "n_recurrent_layers": 40, "n_output_layers": 16, "n_recurrent_loops": 2,
    "recurrent_kv_cache_mode": "per_loop",
}  # fmt: skip
MLA = {
    "num_attention_heads": 64, "num_key_value_heads": 64, "hidden_size": 4096, "v_head_dim": 128,
    "qk_nope_head_dim": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "head_dim": 64,
}  # fmt: skip
SARVAM = MLA | {"model_type": "sarvam_mla", "num_hidden_layers": 32}
AXK2 = MLA | {
    "model_type": "axk2", "num_hidden_layers": 48, "kv_lora_rank": 128, "qk_rope_head_dim": 32,
    "index_head_dim": 128, "index_n_heads": 16, "index_topk": 2048,
    "layer_types": ["indexed_attention"] * 48,
}  # fmt: skip
EXAONE = LLAMA | {"model_type": "exaone"}
LARA = {
    "model_type": "lara_mini", "num_hidden_layers": 34, "hidden_size": 1024,
    "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "sliding_window": 512,
    "layer_types": [
        *["linear_attention", "sliding_attention", "linear_attention", "full_attention",
          "sliding_attention"] * 6, "linear_attention", "sliding_attention", "linear_attention",
        "full_attention",
    ],
    "linear_num_key_heads": 8, "linear_num_value_heads": 16, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
}  # fmt: skip
INKLING_2_MINI = {  # 24 layers, each sixth full; layers 6 to 17 run three times
    "model_type": "inkling2_loop", "text_config": {
        "model_type": "inkling2_loop_text", "num_hidden_layers": 24, "hidden_size": 2304,
        "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128,
        "swa_num_attention_heads": 24, "swa_num_key_value_heads": 8, "swa_head_dim": 128,
        "sliding_window_size": 1024, "conv_kernel_size": 4, "loop_layer_index_start": 6,
        "loop_layer_index_end": 18, "loop_num_passes": 3,
    },
}  # fmt: skip
LOOP = {"core_start": 6, "core_end": 12, "num_passes": 2}
IN_CONFIG = {"text_config": INKLING_2_MINI["text_config"] | {"loop_config": LOOP}}
HY_4_VL = MLA | {
    "model_type": "hy_v4_vl_text", "num_hidden_layers": 78, "head_dim": 256,
    "qk_nope_head_dim": 192, "v_head_dim": 256, "index_topk": 2048, "index_head_dim": 128,
    "index_n_heads": 32,
}  # fmt: skip
CASES = {  # config, bytes that a token adds in bf16: heads x widths x layers by hand
    "Gemma 4": (GEMMA_4_31B, 10 * 2 * 4 * 512 * 2),
    "Gemma 4 as advised": (GEMMA_4_31B | {"global_head_dim": 512}, 10 * 2 * 4 * 512 * 2),
    "pruned": (PRUNED, 16 * 4096 + 16 * 1024),
    "Ling 3": (LING_3, 7 * 576 * 2),
    "EXAONE 4": (EXAONE_4, 8 * 2 * 32 * 128 * 2),
    "EXAONE": (EXAONE, 32 * 4096),
    "Mistral": (LLAMA | {"model_type": "mistral"}, 0),  # a window of 4,096
    "Mistral, null": (LLAMA | {"model_type": "mistral", "sliding_window": None}, 32 * 4096),
    "Sarvam": (SARVAM, 32 * 576 * 2),
    "Sarvam MoE": (LLAMA | {"model_type": "sarvam_moe", "num_key_value_heads": 4}, 32 * 2048),
    "Apertus 1.5": (
        {"model_type": "apertus1p5", "text_config": LLAMA | {"model_type": "apertus1p5_text"}},
        32 * 4096,
    ),
    "A.X-K2": (AXK2, 48 * (160 + 128) * 2),
    "Dory": (DORY, 14 * 4096),
    "Lara Mini": (LARA, 7 * 2 * 4 * 128 * 2),
    "Inkling 2 Mini": (INKLING_2_MINI, (2 + 3 * 2) * 2 * 8 * 128 * 2),
    "its loop in a table": (INKLING_2_MINI | IN_CONFIG, (4 + 1) * 2 * 8 * 128 * 2),
    "Hy 4 VL": (HY_4_VL, 78 * 576 * 2 + 21 * 128 * 2),  # layers 0, 1, 5, 9, ..., 77 have an index
    "Dory, last": (DORY | {"recurrent_kv_cache_mode": "last_loop"}, 9 * 4096),
}


def placed(config: dict) -> Placing:
    return Placing(model=read(config), storage=BF16)


@pytest.mark.parametrize(("config", "token_bytes"), CASES.values(), ids=CASES)
def test_what_each_token_adds(config: dict, token_bytes: int):
    assert placed(config).token_bytes() == token_bytes


def test_what_stays_however_long_the_text():
    of_windows = placed(GEMMA_4_31B).held_bytes(10**6) - placed(GEMMA_4_31B).token_bytes() * 10**6
    assert of_windows == 50 * 1024 * 2 * 16 * 256 * 2
    states = 35 * (32 * 128 * 128 * 4 + 3 * 32 * 128 * 3 * 2)
    assert placed(LING_3).held_bytes(0) == states == 75_980_800
    windows = [layer for layer in read(EXAONE_4).layers if layer.kind == "window"]
    assert len(windows) == 24
    assert {part.length for layer in windows for part in layer.parts} == {4096}
    mistral = read(LLAMA | {"model_type": "mistral"}).layers
    assert {part.length for layer in mistral for part in layer.parts} == {4096}


def test_a_layer_that_runs_twice_has_a_cache_for_each_pass():
    layers = [layer for layer in read(DORY).layers if layer.parts]
    assert len(layers) == 36 + 20


def test_the_width_of_a_class_is_filled_in():
    solar = LLAMA | {"model_type": "solar_open", "num_attention_heads": 64}
    del solar["head_dim"]
    assert placed(solar).token_bytes() == 32 * 2 * 8 * 128 * 2


def test_minimax_m3_with_the_keys_that_keep_nothing():
    stored = MODELS["minimax-m3"]
    table = stored.config["sparse_attention_config"]
    more = {"sparse_disable_index_value": [0] * 60, "sparse_score_type": "max"}
    published = {**stored.config, "sparse_attention_config": table | more}
    assert read(published).layers == stored.model().layers


def test_other_published_keys_that_keep_nothing():
    """Nemotron 3 Super says which layers predict, Kimi K3 how layers mix what earlier ones gave."""
    for name, more in (
        ("nemotron-3-super-120b-a12b", {"mtp_hybrid_override_pattern": "*E"}),
        ("kimi-k3", {"attn_res_block_size": 12}),
    ):
        stored = MODELS[name]
        assert read({**stored.config, **more}).layers == stored.model().layers
    with pytest.raises(UncountedError, match="mtp_hybrid_override_pattern"):
        read({**MODELS["nemotron-3-super-120b-a12b"].config, "mtp_hybrid_override_pattern": "**"})


def test_a_skipped_attention_keeps_nothing():
    skips = LLAMA | {"per_layer_config": {3: {"skip": ["attention"]}, 4: {"skip": ["mlp"]}}}
    layers = read(skips).layers
    assert layers[3] == Layer("none")
    assert layers[4] == layers[5]


REFUSED = {  # what a file has, and what the refusal names
    "an unknown key of a layer": (
        {"7": {"kv_heads_of_layer": 2}},
        "per_layer_config.7.kv_heads_of",
    ),
    "a window in a full layer": ({"7": {"sliding_window": 512}}, "per_layer_config.7.sliding_win"),
    "a layer that there is not": ({"32": {}}, r"a layer of per_layer_config \(32\)"),
    "a name for a layer": ({"last": {}}, "a layer of per_layer_config.*last"),
    "a layer twice": ({"5": {}, "05": {}}, "per_layer_config has layer 5 twice"),
    "no keys": ({"5": [2]}, r"per_layer_config\.5"),
    "within itself": ({"5": {"per_layer_config": {}}}, r"per_layer_config\.5\.per_layer_config"),
    "no heads": ({"5": {"num_key_value_heads": 0}}, "num_key_value_heads"),
    "a number": (7, "per_layer_config"),
    "an unknown part": ({"5": {"skip": ["norm"]}}, r"per_layer_config\.5\.skip.*norm"),
}


@pytest.mark.parametrize(("given", "named"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_with_single_layers_is_named(given: object, named: str):
    with pytest.raises(RefusedError, match=named):
        read(LLAMA | {"per_layer_config": given})


CONTRADICTIONS = {
    "layers under two names": (
        EXAONE | {"num_layers": 40},
        "num_layers = 40.*num_hidden_layers = 32",
    ),
    "two widths of a layer": (
        GEMMA_4_31B | {"global_head_dim": 256},
        "global_head_dim = 256.*= 512",
    ),
}


@pytest.mark.parametrize(("config", "named"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_keys_that_contradict_are_named_with_both_values(config: dict, named: str):
    with pytest.raises(UncountedError, match=named):
        read(config)
    assert read(EXAONE | {"num_layers": 32}) == read(EXAONE)


@pytest.mark.parametrize("key", ["n_loops", "recurrent_depth", "per_layer_configs"])
def test_keys_of_loops_and_layers_are_not_passed_over(key: str):
    with pytest.raises(UncountedError, match=key):
        read(LLAMA | {key: 2})


def test_an_unknown_key_of_a_table_of_loops_is_named():
    table = INKLING_2_MINI["text_config"] | {"loop_config": LOOP | {"skips": [7]}}
    with pytest.raises(UncountedError, match=r"loop_config\.skips"):
        read(INKLING_2_MINI | {"text_config": table})


def test_loops_that_do_not_add_up_are_refused():
    with pytest.raises(UncountedError, match="add up to 71 layers, but there are 72"):
        read(DORY | {"n_output_layers": 15})
    with pytest.raises(RefusedError, match="n_recurrent_loops"):
        read(DORY | {"n_recurrent_loops": 10**6})


def test_the_name_of_a_key_is_not_cut():
    key = "sparse_attention_config." + "index_of_a_name_that_goes_on" * 3
    with pytest.raises(UncountedError, match=key.split(".")[1] + " would"):
        read(LLAMA | {key.split(".")[1]: 2})


@pytest.mark.parametrize(("said", "kind"), [("FP8", "fp8"), ("NVFP4", "nvfp4"), (None, "bf16")])
def test_what_lies_beside_config_json_says_the_type(tmp_path, said: str | None, kind: str):
    (tmp_path / "config.json").write_text(json.dumps(SARVAM))
    beside = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": said}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(beside))
    for source in (tmp_path, tmp_path / "config.json"):
        assert find(str(source)).storage.usual == kind


def test_an_unknown_type_beside_config_json_is_named(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(SARVAM))
    beside = {"quantization": {"kv_cache_quant_algo": "FP3"}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(beside))
    with pytest.raises(RefusedError, match=r"hf_quant_config\.json.*FP3"):
        find(str(tmp_path))


@pytest.mark.parametrize("config", [INKLING_2_MINI, DORY], ids=["Inkling 2 Mini", "Dory"])
def test_a_layer_that_runs_more_than_once_has_its_weights_once(config):
    text = config.get("text_config", config)
    times = "loop_num_passes" if "text_config" in config else "n_recurrent_loops"
    once, often = read(text | {times: 1}), read(text)
    assert len(often.layers) > len(once.layers)
    assert often.attention_parameters == once.attention_parameters
    assert len(often.expert_layers) == len(once.expert_layers)


def test_more_passes_than_layers_can_be_are_refused_by_name():
    with pytest.raises(RefusedError, match="loop_num_passes"):
        read(INKLING_2_MINI["text_config"] | {"num_hidden_layers": 4096, "loop_num_passes": 64})
