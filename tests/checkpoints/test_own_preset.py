"""A config.json as a preset, and as the text of a link."""

import base64
import json
import zlib

import pytest
from transformers import GlmMoeDsaConfig

from kvcount.refusals import RefusedError
from mla_engine import PRESETS
from mla_engine.checkpoints import attention_config
from mla_engine.checkpoints.own_preset import preset_of_config
from mla_engine.given_preset import MARK, MOST_LETTERS, given_preset, plain, read_given
from tests.checkpoints import pooled_model
from tests.refusals import refusing

OWN = {
    "model_type": "deepseek_v3", "hidden_size": 6656, "num_attention_heads": 52,
    "num_hidden_layers": 31, "kv_lora_rank": 384, "q_lora_rank": 1024, "qk_nope_head_dim": 96,
    "qk_rope_head_dim": 32, "v_head_dim": 80, "rope_theta": 50000.0, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 65_536, "attention_bias": False,
}  # fmt: skip
KIMI = OWN | {
    "model_type": "kimi_linear", "q_lora_rank": None, "num_hidden_layers": 8,
    "linear_attn_config": {
        "full_attn_layers": [4, 8], "kda_layers": [1, 2, 3, 5, 6, 7], "head_dim": 128,
        "num_heads": 52, "short_conv_kernel_size": 4,
    },
}  # fmt: skip
WINDOWS = {
    "model_type": "qwen2", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 4, "use_sliding_window": True, "sliding_window": 16, "rms_norm_eps": 1e-6,
    "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
}  # fmt: skip
SHOWN = ("grouped", "latent", "indexed")


@pytest.mark.parametrize("key", PRESETS)
def test_a_preset_comes_back_from_its_text(key: str):
    one = PRESETS[key]
    given = given_preset(
        one.config,
        name=one.name,
        layer=3,
        n_layers=one.n_layers,
        beside=one.beside,
        not_modelled=one.not_modelled,
    )
    again = read_given(given.key)
    assert again == given
    assert (again.config, again.beside) == (one.config, one.beside)
    assert (again.layer, again.n_layers) == (3, one.n_layers)
    assert len(given.key) < 600  # of the 2,000 letters that a link has


# As zai-org/GLM-5.2 has them: ai-dynamo/aiconfigurator@095f58a5, zhao9797/ai-research@df8674a.
GLM_5_2 = OWN | {
    "model_type": "glm_moe_dsa", "num_hidden_layers": 78, "index_head_dim": 128, "index_topk": 2048,
    "index_n_heads": 32, "index_topk_freq": 4, "index_skip_topk_offset": 3,
    "index_topk_pattern": None, "index_share_for_mtp_iteration": True,
    "indexer_rope_interleave": True, "num_nextn_predict_layers": 1,
}  # fmt: skip


@pytest.mark.parametrize("listed", [True, False])
def test_glm_5_2_chooses_in_the_layers_of_its_own_class(listed: bool):
    theirs = GlmMoeDsaConfig(**GLM_5_2).indexer_types
    assert (theirs.count("full"), theirs.count("shared")) == (21, 57)
    config = GLM_5_2 | ({"indexer_types": theirs} if listed else {})
    found = preset_of_config(config, "mine", SHOWN)
    assert not found.config.index_shared
    assert [(one.index_shared, n) for one, n in found.beside] == [(True, 57)]
    assert (found.n_caches, found.n_layers) == (21, 78)
    assert [attention_config(config, n).index_shared for n in range(78)] == [
        one == "shared" for one in theirs
    ]


def test_the_whole_model_is_told():
    found = preset_of_config(OWN, "mine", SHOWN)
    told = (found.name, found.layer, found.n_layers, found.n_caches, found.max_context)
    assert told == ("mine", 0, 31, 31, 65_536)
    assert found.config == attention_config(OWN, 0)
    assert found.config.rope.theta == 50_000


def test_of_a_hybrid_the_first_layer_that_is_shown():
    found = preset_of_config(KIMI, "", SHOWN)
    assert (found.layer, found.n_layers, found.n_caches) == (3, 8, 2)
    assert found.name == "kimi_linear"
    assert found.beside == ((attention_config(KIMI, 0), 6),)
    assert read_given(found.key).kinds == found.kinds


def test_of_compressed_attention_the_layer_that_keeps_most_and_all_others_beside():
    config = json.loads(pooled_model.config().to_json_string())
    found = preset_of_config(config, "", ("pooled",))
    layers = [attention_config(config, n) for n in range(found.n_layers)]
    assert found.kind == "CSA"
    assert found.config == layers[found.layer]
    assert {one: layers.count(one) for one in layers} == dict(found.kinds)
    assert found.n_attentions == len(layers)
    assert read_given(found.key) == found


def test_what_older_links_said_of_linear_layers_is_no_gap_any_more():
    assert read_given(folded(told(g=["linear attention layers"]))).not_modelled == ()


def test_of_windows_and_full_attention_the_full_one():
    found = preset_of_config(WINDOWS, "", SHOWN)
    assert (found.layer, found.config.sliding_window) == (3, None)
    assert not found.not_modelled
    ((window, n_windows),) = found.beside
    assert n_windows == 3
    assert (found.n_caches, window.sliding_window) == (1, 16)


DAMAGED = {  # what is changed, and what the refusal names
    "no hidden_size": (("hidden_size", ...), "hidden_size"),
    "no heads": (("num_attention_heads", ...), "num_attention_heads"),
    "no layers": (("num_hidden_layers", ...), "num_hidden_layers"),
    "no latent": (("kv_lora_rank", ...), "kv_lora_rank"),
    "no content": (("qk_nope_head_dim", ...), "qk_nope_head_dim"),
    "no rotary": (("qk_rope_head_dim", ...), "qk_rope_head_dim"),
    "no value": (("v_head_dim", ...), "v_head_dim"),
    "no type": (("model_type", ...), "model_type"),
    "unknown type": (("model_type", "new"), "kv_lora_rank"),
    "a type of no text": (("model_type", ["deepseek_v3"]), "model_type"),
    "width as text": (("hidden_size", "6656"), "d_model"),
    "no width": (("hidden_size", 0), "d_model"),
    "negative heads": (("num_attention_heads", -4), "n_heads"),
    "half a head": (("num_attention_heads", 1.5), "n_heads"),
    "a flag as a size": (("kv_lora_rank", True), "d_latent_kv"),
    "odd rotary": (("qk_rope_head_dim", 33), "d_rope"),
    "huge": (("hidden_size", 10**40), "d_model"),
    "layers without end": (("num_hidden_layers", 10**9), "num_hidden_layers"),
    "theta below 0": (("rope_theta", -1.0), "theta"),
    "unknown rotation": (("rope_scaling", {"rope_type": "new", "factor": 2}), "new"),
    "a list as a size": (("v_head_dim", [128]), "d_value"),
    "a bias of no kind": (("attention_bias", "yes"), "bias"),
}


@pytest.mark.parametrize(("change", "named"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_config_is_refused_by_the_key(change: tuple, named: str):
    key, value = change
    config = {name: old for name, old in OWN.items() if name != key}
    if value is not ...:
        config[key] = value
    with pytest.raises(RefusedError) as refused:
        preset_of_config(config, "", SHOWN)
    assert named in str(refused.value)


def test_what_the_engine_has_no_layer_of_can_be_counted():
    phi = WINDOWS | {"model_type": "phi3"}
    with pytest.raises(RefusedError, match=r"a phi3 model has no layer of the engine.*KV cache"):
        preset_of_config(phi, "", SHOWN)


def test_a_model_whose_attention_no_page_shows_is_refused():
    with refusing("no_page_of_config", model_type="deepseek_v3"):
        preset_of_config(OWN, "", ("grouped",))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("Kimi-K2_x.1", "Kimi-K2_x.1"),
        ("<b>[a](http://x)*$", "bahttpx"),
        ("www.evil.org", "evil.org"),
        ("__init__", "init__"),
        ("模型", "model"),
        ("x" * 99, "x" * 60),
    ],
)
def test_a_name_keeps_nothing_that_a_page_would_read_as_a_mark(name: str, kept: str):
    assert plain(name) == kept
    assert preset_of_config(OWN, name, SHOWN).name == kept


def folded(table: object, data: bytes | None = None) -> str:
    text = json.dumps(table).encode() if data is None else data
    return MARK + base64.urlsafe_b64encode(zlib.compress(text)).decode().rstrip("=")


def told(**changes: object) -> dict[str, object]:
    latent = {"d_model": 64, "n_heads": 4, "d_head": 16, "d_latent_kv": 32}
    base = {"n": "a", "i": 0, "l": 1, "c": 1, "g": [], "x": None, "latent": latent}
    return base | changes


FORGED = {
    "nothing": MARK,
    "no base64": MARK + "!!!!",
    "letters of others": MARK + "模型",
    "no zlib": MARK + base64.urlsafe_b64encode(b"hello hello").decode(),
    "cut": folded(told())[:-8],
    "too long": MARK + "A" * MOST_LETTERS,
    "unfolds without end": folded(None, b" " * 10**7),
    "no object": folded([1]),
    "no mechanism": folded(told() | {"latent": {}}),
    "unknown size": folded(told(latent={"d_model": 64, "evil": 1})),
    "a name with marks": folded(told(n="<script>")),
    "a name of no text": folded(told(n=7)),
    "layers without end": folded(told(l=10**9)),
    "a gap of no kind": folded(told(g=["<b>"])),
    "gaps of no kind": folded(told(g=7)),
    "context as text": folded(told(x="much")),
    "kinds of no list": folded(told(b={"c": 1})),
    "a kind of no mechanism": folded(told(b=[{"c": 1, "evil": {}}])),
    "a kind without a number": folded(told(b=[{"latent": told()["latent"]}])),
    "kinds without end": folded(told(b=[{"c": 1, "latent": told()["latent"]}] * 99)),
    "scaling of no kind": folded(
        told(latent=told()["latent"] | {"d_rope": 4, "rope": {"scaling": {"new": {}}}})
    ),
    "rotation of no kind": folded(told(latent=told()["latent"] | {"d_rope": 4, "rope": [1]})),
    "two scalings": folded(
        told(latent=told()["latent"] | {"d_rope": 4, "rope": {"scaling": {"yarn": {}, "x": {}}}})
    ),
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_a_forged_text_is_refused(text: str):
    assert read_given(folded(told())).config.d_model == 64
    with pytest.raises(ValueError, match=r"."):
        read_given(text)
