"""The kind of each layer, where files of one type say it in more than one way."""

import pytest

from kvcount import read
from kvcount.refusals import RefusedError
from kvcount.tests.published import GLM_5_2, V4_FLASH


def test_ling_3_says_0_for_as_many_heads_as_attention_has():
    """KDA, although the key of lightning attention is there, in Ling-3.0's config.json."""
    sizes = {"num_hidden_layers": 2, "layer_group_size": 2, "num_attention_heads": 3}
    mla = {"kv_lora_rank": 8, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4}
    config = {"model_type": "bailing_hybrid", "num_kv_heads_for_linear_attn": 0, "head_dim": 4}
    config |= sizes | mla
    (linear, _) = read(config | {"short_conv_kernel_size": 4}).layers
    assert (linear.kind, linear.parts[0].numbers) == ("kda", 3 * 4 * 4)
    (linear, _) = read(config | {"num_kv_heads_for_linear_attn": 5}).layers
    assert (linear.kind, linear.parts[0].numbers) == ("lightning", 5 * 4 * 4)


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ({"sliding_window": 9, "sliding_window_pattern": "LLLG"}, "LLLGL"),
        ({"sliding_window": 9, "sliding_window_pattern": 4}, "LLLGL"),
        ({"sliding_window": 9, "sliding_window_pattern": 2}, "LGLGL"),
        ({"sliding_window": None, "sliding_window_pattern": None}, "GGGGG"),
    ],
)
def test_exaone_says_a_pattern_as_letters_or_as_a_period(said: dict, kinds: str):
    sizes = {"num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = {"model_type": "exaone4", "hidden_size": 32} | sizes | said
    expected = [{"L": "window", "G": "gqa"}[letter] for letter in kinds]
    assert [layer.kind for layer in read(config).layers] == expected


@pytest.mark.parametrize("window", [1, 2])
def test_the_shortest_window_is_one_like_any_other(window: int):
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = {"model_type": "mistral", "hidden_size": 32, "sliding_window": window} | sizes
    for layer in read(config).layers:
        assert (layer.kind, layer.parts[0].length) == ("window", window)


def test_glm_lists_the_choices_that_its_frequency_and_offset_give():
    by_rule = {name: said for name, said in GLM_5_2.items() if name != "indexer_types"}
    assert read(by_rule).layers == read(GLM_5_2).layers


def test_a_search_leaves_some_layers_without_attention():
    blocks = [
        {"attention": {"n_heads_in_group": 8, "no_op": False}},
        {"attention": {"n_heads_in_group": None, "no_op": True}},
        {"attention": {"no_op": False, "replace_with_linear": True}},
        {"attention": {"n_heads_in_group": 4, "window_length": 9}},
    ]
    config = {"model_type": "nemotron-nas", "num_hidden_layers": 4, "num_attention_heads": 8}
    layers = read(config | {"hidden_size": 32, "block_configs": blocks}).layers
    assert [layer.kind for layer in layers] == ["mqa", "none", "none", "window"]
    assert [sum(part.numbers for part in layer.parts) for layer in layers] == [8, 0, 0, 16]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kv_source_layer_ids": []}, "kv_source_layer_ids gives layer 1 no layer that keeps"),
        ({"kv_source_layer_ids": [2]}, "kv_source_layer_ids gives layer 1 no layer that keeps"),
        ({"compress_ratios": [0, 2, 1]}, "gives layer 2 no layer that keeps"),
        ({"index_source_layer_ids": [9]}, "an entry of index_source_layer_ids"),
        ({"index_source_layer_ids": None}, "config.json has no index_source_layer_ids"),
    ],
)
def test_entries_that_no_layer_keeps_are_refused(change: dict, said: str):
    sources = {"kv_source_layer_ids": [1], "index_source_layer_ids": [1]}
    config = V4_FLASH | sources | {"model_type": "deepseek_v41", "num_hidden_layers": 3}
    with pytest.raises(RefusedError, match=said):
        read(config | {"compress_ratios": [0, 2, 2], "num_nextn_predict_layers": 0} | change)
