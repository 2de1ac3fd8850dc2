"""Kimi-K3's layers from a checkpoint, against its own code's formulas: transformers has none of it.

Written from modeling_kimi_linear.py of moonshotai/Kimi-K3 (revision f831ab66, KimiMLAAttention and
KimiDeltaAttention). Its A_log has zeros up to the width of a head, only its experts are in a code.
"""

import json
from copy import deepcopy

import pytest
import torch
from safetensors.torch import save_file

from mla_engine import PRESETS, DeltaConfig
from mla_engine.checkpoints import (
    CheckpointError,
    attention_config,
    describe,
    hidden_states,
    load_attention,
)
from tests.checkpoints.texts import TEXT, add_tokenizer
from tests.engine.samples import hidden, relative
from tests.reference_delta import delta

D, HEADS, WIDTH, ROPE, VALUE, C, L = 10, 3, 6, 2, 5, 7, 8
EXPERTS = {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized"}
EXPERTS |= {"ignore": ["re:.*self_attn.*", "re:.*mlp\\.gate$"]}
LINEAR = {"full_attn_layers": [2], "kda_layers": [1], "head_dim": WIDTH, "num_heads": HEADS}
LINEAR |= {"short_conv_kernel_size": 4, "gate_lower_bound": -5.0, "use_full_rank_gate": True}
INNER = {
    "model_type": "kimi_linear", "hidden_size": D, "num_hidden_layers": 2, "kv_lora_rank": C,
    "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "q_lora_rank": L,
    "qk_nope_head_dim": WIDTH, "qk_rope_head_dim": ROPE, "v_head_dim": VALUE, "rms_norm_eps": 1e-2,
    "mla_use_nope": True, "mla_use_output_gate": True, "attn_res_block_size": 12,
    "hidden_act": "situ", "linear_attn_config": LINEAR, "quantization_config": EXPERTS,
}  # fmt: skip
CONFIG = {"model_type": "kimi_k3", "text_config": INNER}
PATH = "language_model.model.layers.{}.self_attn."
KDA = {
    **{f"{x}_proj.weight": (HEADS * WIDTH, D) for x in "qkvg"},
    **{f"{x}_conv1d.weight": (HEADS * WIDTH, 1, 4) for x in "qkv"},
    "f_a_proj.weight": (WIDTH, D), "f_b_proj.weight": (HEADS * WIDTH, WIDTH), "A_log": (WIDTH,),
    "dt_bias": (HEADS * WIDTH,), "b_proj.weight": (HEADS, D), "o_norm.weight": (WIDTH,),
    "o_proj.weight": (D, HEADS * WIDTH),
}  # fmt: skip
MLA = {
    "q_a_proj.weight": (L, D), "q_a_layernorm.weight": (L,),
    "q_b_proj.weight": (HEADS * (WIDTH + ROPE), L), "kv_a_proj_with_mqa.weight": (C + ROPE, D),
    "kv_a_layernorm.weight": (C,), "kv_b_proj.weight": (HEADS * (WIDTH + VALUE), C),
    "g_proj.weight": (HEADS * VALUE, D), "o_proj.weight": (D, HEADS * VALUE),
}  # fmt: skip


def drawn():
    """Tensors of one layer of each kind under their published names."""
    generator = torch.Generator().manual_seed(4)
    tensors = {}
    for layer, shapes in enumerate((KDA, MLA)):
        for name, shape in shapes.items():
            values = 0.5 * torch.randn(shape, generator=generator)
            tensors[PATH.format(layer) + name] = values + 1 if "norm" in name else values
    tensors[PATH.format(0) + "A_log"][HEADS:] = 0
    tensors["language_model.model.embed_tokens.weight"] = torch.randn(64, D, generator=generator)
    return tensors


def saved(folder, tensors=None, **inner):
    """A folder with these tensors and this config.json."""
    folder.mkdir(exist_ok=True)
    save_file(drawn() if tensors is None else tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | {"text_config": INNER | inner}))
    return folder


def normed(x, weight):
    """RMSNorm with the class's own 1e-6, whatever rms_norm_eps says."""
    return weight * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def gated_mla(w, h):
    """u of one sequence [t,d]: a head at a time, a query at a time."""
    c_Q = normed(h @ w["q_a_proj.weight"].T, w["q_a_layernorm.weight"])
    queries = (c_Q @ w["q_b_proj.weight"].T).unflatten(-1, (HEADS, WIDTH + ROPE))
    latent, k_R = (h @ w["kv_a_proj_with_mqa.weight"].T).split([C, ROPE], -1)
    pairs = normed(latent, w["kv_a_layernorm.weight"]) @ w["kv_b_proj.weight"].T
    pairs = pairs.unflatten(-1, (HEADS, WIDTH + VALUE))
    gate = (h @ w["g_proj.weight"].T).sigmoid()
    rows = []
    for t in range(len(h)):
        found = []
        for i in range(HEADS):
            keys = torch.cat((pairs[: t + 1, i, :WIDTH], k_R[: t + 1]), dim=-1)
            shares = (keys @ queries[t, i] * (WIDTH + ROPE) ** -0.5).softmax(0)
            found.append(shares @ pairs[: t + 1, i, WIDTH:])
        rows.append(w["o_proj.weight"] @ (torch.cat(found) * gate[t]))
    return torch.stack(rows)


def as_loops(w):
    """The weights of linear attention by the oracle's names, heads apart."""
    heads = {"q": "Q", "k": "K", "v": "V"}
    found = {f"W_{X}": w[f"{x}_proj.weight"] for x, X in heads.items()}
    found |= {f"conv_{X}": w[f"{x}_conv1d.weight"].squeeze(1) for x, X in heads.items()}
    found |= {"W_UA": w["f_b_proj.weight"], "b_A": w["dt_bias"], "W_UG": w["g_proj.weight"]}
    found = {name: matrix.unflatten(0, (HEADS, WIDTH)) for name, matrix in found.items()}
    found |= {"W_DA": w["f_a_proj.weight"], "W_B": w["b_proj.weight"]}
    found |= {"A_log": w["A_log"][:HEADS], "o_norm": w["o_norm.weight"]}
    found["W_O"] = w["o_proj.weight"].unflatten(1, (HEADS, WIDTH))
    return {name: matrix.numpy() for name, matrix in found.items()}


def of_layer(layer):
    """Its tensors in float64 by their short names."""
    path = PATH.format(layer)
    own = {name: tensor for name, tensor in drawn().items() if name.startswith(path)}
    return {name.removeprefix(path): tensor.double() for name, tensor in own.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return add_tokenizer(saved(tmp_path_factory.mktemp("kimi_k3")))


def test_its_mla_is_that_of_its_code(folder):
    ours = load_attention(folder, 1, dtype=torch.float64)
    h = hidden(2, 9, D)
    for trace in (ours(h), ours.forward_absorbed(h)):
        assert relative(trace.u, torch.stack([gated_mla(of_layer(1), one) for one in h])) < 1e-12


def test_its_linear_attention_is_that_of_its_code(folder):
    ours = load_attention(folder, 0, dtype=torch.float64)
    sizes = {"d_model": D, "n_heads": HEADS, "d_head": WIDTH, "d_decay": WIDTH}
    wanted = DeltaConfig(**sizes, decay_floor=-5.0, norm_eps=1e-2)
    assert ours.config == wanted
    h = hidden(1, 9, D)
    assert relative(ours(h).u, delta(wanted, as_loops(of_layer(0)), h.numpy())["u"]) < 1e-12


def test_says_what_its_layers_are_and_that_their_inputs_are_not_computed(folder):
    plan = describe(folder, 1)
    assert plan.mechanisms == ("delta", "latent")
    assert (plan.config.output_gate, plan.config.rope) == ("channel", None)
    for layer in (0, 1):
        with pytest.raises(
            CheckpointError, match=r"what earlier layers gave \(attn_res_block_size"
        ):
            hidden_states(folder, TEXT, layer)


def test_without_its_keys_it_is_kimi_linear_with_low_rank_gates():
    inner = deepcopy(INNER)
    for key in ("gate_lower_bound", "use_full_rank_gate"):
        del inner["linear_attn_config"][key]
    inner["mla_use_output_gate"] = False
    assert attention_config(inner, 0).d_gate == WIDTH
    assert attention_config(inner, 0).decay_floor is None
    assert attention_config(inner, 1).output_gate is None


WRONG = {
    "padding": ("A_log", lambda t: t.fill_(1.0), {}, "A_log has 6 rows, config.json asks for 3"),
    "fewer rates": ("A_log", lambda t: t[:2].clone(), {}, r"shape \[2\], and config.json asks for"),
    "no gate": ("g_proj.weight", lambda _: None, {}, "has no tensor .*g_proj"),
    "low rank": ("g_proj.weight", lambda t: t[:2].clone(), {}, r"g_proj.weight has the shape"),
    "a coded attention": ("A_log", lambda t: t.int(), {}, "only fp8"),
    "an odd list": (
        "A_log",
        lambda t: t.int(),
        {"quantization_config": {"ignore": 5}},
        "only fp8",
    ),
}


@pytest.mark.parametrize(("name", "change", "inner", "said"), WRONG.values(), ids=WRONG)
def test_refuses_what_does_not_fit(name, change, inner, said, tmp_path):
    tensors = drawn()
    changed = change(tensors.pop(PATH.format(0) + name))
    if changed is not None:
        tensors[PATH.format(0) + name] = changed
    with pytest.raises(CheckpointError, match=said):
        load_attention(saved(tmp_path, tensors, **inner), 0)


def test_its_published_sizes_are_those_of_its_preset():
    layers = {"full_attn_layers": [*range(4, 93, 4), 93], "head_dim": 128, "num_heads": 96}
    layers["kda_layers"] = [n for n in range(1, 93) if n % 4]
    sizes = {"hidden_size": 7168, "num_attention_heads": 96, "num_hidden_layers": 93}
    sizes |= {"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128}
    sizes |= {"qk_rope_head_dim": 64, "v_head_dim": 128, "linear_attn_config": LINEAR | layers}
    found = [attention_config(INNER | sizes, layer) for layer in range(93)]
    latent = [config for config in found if not isinstance(config, DeltaConfig)]
    assert (len(latent), set(latent)) == (24, {PRESETS["kimi-k3"].config})
