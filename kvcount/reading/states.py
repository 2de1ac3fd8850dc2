"""Layers without a cache that grows: they keep a state, and last inputs of a short convolution.

A convolution needs one token less than its kernel is long of those before, which vLLM and SGLang
keep; transformers 5.24 keeps one more, which it never reads. Other sizes are as there.
"""

from kvcount import checks, layers
from kvcount.parts import Layer
from kvcount.reading.keys import Keys


def kda(keys: Keys, _layer: int) -> Layer:
    """Kimi Delta Attention: a state of k x v numbers a head; convolutions of q, k and v."""
    at = "linear_attn_config." if keys.get("linear_attn_config") is not None else ""
    names = ("num_heads", "head_dim", "short_conv_kernel_size")
    flat = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
    heads, width, kernel = (
        keys.whole(at + name if at else other) for name, other in zip(names, flat, strict=True)
    )
    return layers.kda(heads, width, width, kernel)


def bailing(keys: Keys, layer: int) -> Layer:
    """The same in Ling 3, whose files say 0 for as many heads as attention has; before, lightning.

    Lightning attention, in Ling 2.5, has no short convolutions.
    """
    own = keys.whole_or("num_kv_heads_for_linear_attn", 0, least=0)
    heads = "num_kv_heads_for_linear_attn" if own else "num_attention_heads"
    if own and keys.get("short_conv_kernel_size") is None:
        return lightning(keys.renamed(num_attention_heads=heads), layer)
    names = {"linear_num_heads": heads, "linear_head_dim": "head_dim"}
    names["linear_conv_kernel_dim"] = "short_conv_kernel_size"
    said = {name: other for name, other in names.items() if keys.get(name) is None}
    return kda(keys.renamed(**said), layer)


def delta(keys: Keys, _layer: int) -> Layer:
    """Gated delta rule: fewer heads for q and k than for v (Qwen3-Next)."""
    n_key, n_value = keys.whole("linear_num_key_heads"), keys.whole("linear_num_value_heads")
    d_key, d_value = keys.whole("linear_key_head_dim"), keys.whole("linear_value_head_dim")
    kernel = keys.whole("linear_conv_kernel_dim")
    return Layer(
        "delta",
        (
            layers.state(n_value * d_key * d_value, n_value),
            layers.conv(2 * n_key * d_key, kernel - 1, n_key),
            layers.conv(n_value * d_value, kernel - 1, n_value),
        ),
    )


def delta_ngrams(keys: Keys, layer: int) -> Layer:
    """The same; `ple_layer_ids`, counted from 1, also convolve what n-grams add (Qwen4-Exp).

    Each of that convolution's steps goes back as many tokens as the longest n-gram has.
    """
    parts = delta(keys, layer).parts
    if keys.get("ple_layer_ids") is None or layer + 1 not in keys.list("ple_layer_ids"):
        return Layer("delta", parts)
    channels = keys.whole("hc_count") * keys.whole("hidden_size")
    tokens = (keys.whole("ple_conv_kernel_size") - 1) * keys.whole("ngram_size")
    return Layer("delta", (*parts, layers.conv(channels, tokens, channels)))


def lightning(keys: Keys, _layer: int) -> Layer:
    """Lightning attention: a state of k x v numbers a head."""
    heads, width = keys.whole("num_attention_heads"), keys.whole("head_dim")
    return Layer("lightning", (layers.state(heads * width**2, heads),))


def mamba(keys: Keys, _layer: int) -> Layer:
    """Mamba: `d_state` numbers for each channel, said or expand x d_model."""
    said = keys.get("channels") is not None
    channels = keys.whole("channels" if said else "hidden_size")
    channels *= 1 if said else keys.whole("expand")
    kernel, states = keys.whole("conv_kernel"), keys.whole("state_size")
    return Layer(
        "mamba",
        (layers.state(channels * states, channels), layers.conv(channels, kernel - 1, channels)),
    )


def mamba_of_heads(keys: Keys, layer: int) -> Layer:
    """The same with heads x width channels (PLaMo 2)."""
    return mamba(keys.having(channels=keys.whole("mamba_heads") * keys.whole("head_dim")), layer)


def rwkv(keys: Keys, _layer: int) -> Layer:
    """RWKV-5: a state of k x v numbers a head, and the token before for each of its two mixers."""
    d_model, width = keys.whole("hidden_size"), keys.whole("head_size")
    inner = keys.whole_or("attention_hidden_size", d_model)
    checks.multiple("attention_hidden_size", inner, "head_size", width)
    heads = inner // width
    return Layer(
        "rwkv", (layers.state(heads * width**2, heads), *(layers.conv(d_model, 1, 1),) * 2)
    )


def mamba2(keys: Keys, _layer: int) -> Layer:
    """Mamba-2: heads x width x d_state numbers; convolutions of x, and of B and C by group."""
    heads, width = keys.whole("mamba_heads"), _mamba_width(keys)
    groups, states = keys.whole("groups"), keys.whole("state_size")
    kernel = keys.whole("conv_kernel")
    return Layer(
        "mamba",
        (
            layers.state(heads * width * states, heads),
            layers.conv(heads * width, kernel - 1, heads),
            layers.conv(2 * groups * states, kernel - 1, groups),
        ),
    )


def _mamba_width(keys: Keys) -> int:
    """Return the width of a head, said or an even share of the layer's width."""
    if keys.get("mamba_head_dim") not in (None, "auto"):
        return keys.whole("mamba_head_dim")
    own, heads = keys.get("mamba_d_ssm") is not None, keys.whole("mamba_heads")
    inner = keys.whole("mamba_d_ssm" if own else "hidden_size")
    inner *= 1 if own else keys.whole("expand")
    checks.multiple("the width of the mixer", inner, keys.name("mamba_heads"), heads)
    return inner // heads


def conv(keys: Keys, _layer: int) -> Layer:
    """Return only a short convolution (LFM2)."""
    channels = keys.whole("hidden_size")
    return Layer("conv", (layers.conv(channels, keys.whole("conv_kernel") - 1, channels),))


def branches(keys: Keys, _layer: int) -> Layer:
    """Return short convolutions of keys, of values, and of what attention and MLP add (Inkling)."""
    return _branches(keys, keys.whole("num_key_value_heads"), keys.whole("head_dim"))


def own_branches(keys: Keys, _layer: int) -> Layer:
    """Return the same where a window has KV heads and a width of its own."""
    return _branches(keys, keys.whole("swa_num_key_value_heads"), keys.whole("swa_head_dim"))


def _branches(keys: Keys, n_kv_heads: int, d_head: int) -> Layer:
    kernel, d_model = keys.whole("conv_kernel"), keys.whole("hidden_size")
    heads = (layers.conv(n_kv_heads * d_head, kernel - 1, n_kv_heads),) * 2
    return Layer("conv", heads + (layers.conv(d_model, kernel - 1, d_model),) * 2)


def mixed_heads(keys: Keys, _layer: int) -> Layer:
    """Two convolutions over all queries and keys, and half of the last value (ZAYA's CCA)."""
    n_kv_heads, d_head = keys.whole("num_key_value_heads"), keys.whole("head_dim")
    heads = keys.whole("num_attention_heads") + n_kv_heads
    tokens = keys.whole("cca_time0") - 1 + keys.whole("cca_time1") - 1
    half = n_kv_heads * d_head // 2
    return Layer(
        "conv", (layers.conv(heads * d_head, tokens, heads), layers.conv(half, 1, n_kv_heads))
    )


def images(_keys: Keys, _layer: int) -> Layer:
    """Return cross-attention: keys and values of images, of which a text has none."""
    return Layer("images")


def nothing(_keys: Keys, _layer: int) -> Layer:
    """Return a layer without attention."""
    return Layer("none")
