"""What layers without a cache that grows keep: a state, and the last inputs of a short convolution.

Sizes as in transformers 5.23, whose convolutions keep as many tokens as their kernel is long.
"""

from mla_engine import checks
from mla_engine.model_caches.keys import Keys
from mla_engine.model_caches.parts import Layer, Part

ONCE = {"growth": "once", "length": 1}


def _state(numbers: int, heads: int) -> Part:
    return Part(name="state", numbers=numbers, heads=heads, **ONCE)


def _conv(channels: int, kernel: int, heads: int) -> Part:
    return Part(name="conv", numbers=channels * kernel, heads=heads, **ONCE)


def kda(keys: Keys, _layer: int) -> Layer:
    """Kimi Delta Attention: a state of k x v numbers a head; convolutions of q, k and v."""
    at = "linear_attn_config." if keys.get("linear_attn_config") is not None else ""
    names = ("num_heads", "head_dim", "short_conv_kernel_size")
    flat = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
    heads, width, kernel = (
        keys.whole(at + name if at else other) for name, other in zip(names, flat, strict=True)
    )
    return Layer("kda", (_state(heads * width**2, heads), _conv(3 * heads * width, kernel, heads)))


def bailing(keys: Keys, layer: int) -> Layer:
    """The same with as many heads as attention has (Ling 3); in Ling 2.5 lightning attention."""
    if keys.get("num_kv_heads_for_linear_attn") is not None:
        return lightning(keys.renamed(num_attention_heads="num_kv_heads_for_linear_attn"), layer)
    own = {"linear_num_heads": "num_attention_heads", "linear_head_dim": "head_dim"}
    return kda(keys.renamed(**own, linear_conv_kernel_dim="short_conv_kernel_size"), layer)


def delta(keys: Keys, _layer: int) -> Layer:
    """Gated delta rule: fewer heads for q and k than for v (Qwen3-Next)."""
    n_key, n_value = keys.whole("linear_num_key_heads"), keys.whole("linear_num_value_heads")
    d_key, d_value = keys.whole("linear_key_head_dim"), keys.whole("linear_value_head_dim")
    kernel = keys.whole("linear_conv_kernel_dim")
    return Layer(
        "delta",
        (
            _state(n_value * d_key * d_value, n_value),
            _conv(2 * n_key * d_key, kernel, n_key),
            _conv(n_value * d_value, kernel, n_value),
        ),
    )


def lightning(keys: Keys, _layer: int) -> Layer:
    """Lightning attention: a state of k x v numbers a head."""
    heads, width = keys.whole("num_attention_heads"), keys.whole("head_dim")
    return Layer("lightning", (_state(heads * width**2, heads),))


def mamba(keys: Keys, _layer: int) -> Layer:
    """Mamba: `d_state` numbers for each of expand x d_model channels."""
    channels = keys.whole("expand") * keys.whole("hidden_size")
    kernel, states = keys.whole("conv_kernel"), keys.whole("state_size")
    return Layer("mamba", (_state(channels * states, channels), _conv(channels, kernel, channels)))


def mamba2(keys: Keys, _layer: int) -> Layer:
    """Mamba-2: heads x width x d_state numbers; convolutions of x, and of B and C by group."""
    heads, width = keys.whole("mamba_heads"), _mamba_width(keys)
    groups, states = keys.whole("groups"), keys.whole("state_size")
    kernel = keys.whole("conv_kernel")
    return Layer(
        "mamba",
        (
            _state(heads * width * states, heads),
            _conv(heads * width, kernel, heads),
            _conv(2 * groups * states, kernel, groups),
        ),
    )


def _mamba_width(keys: Keys) -> int:
    """Width of a head, said or an even share of the layer's width."""
    if keys.get("mamba_head_dim") not in (None, "auto"):
        return keys.whole("mamba_head_dim")
    own, heads = keys.get("mamba_d_ssm") is not None, keys.whole("mamba_heads")
    inner = keys.whole("mamba_d_ssm" if own else "hidden_size")
    inner *= 1 if own else keys.whole("expand")
    checks.multiple("the width of the mixer", inner, keys.name("mamba_heads"), heads)
    return inner // heads


def conv(keys: Keys, _layer: int) -> Layer:
    """A short convolution alone (LFM2)."""
    channels = keys.whole("hidden_size")
    return Layer("conv", (_conv(channels, keys.whole("conv_kernel"), channels),))


def nothing(_keys: Keys, _layer: int) -> Layer:
    """A layer without attention."""
    return Layer("none")
