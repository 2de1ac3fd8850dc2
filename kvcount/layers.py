"""The parts that a kind of layer keeps, by its sizes: of a config.json, or of a layer that runs."""

from kvcount.parts import Layer, Part

ONCE = {"growth": "once", "length": 0}  # from the start


def heads_kind(n_heads: int, n_kv_heads: int) -> str:
    """Return the kind of a layer with keys and values, by how many query heads share one."""
    return "mha" if n_kv_heads == n_heads else "mqa" if n_kv_heads == 1 else "gqa"


def pair(n_kv_heads: int, d_key: int, d_value: int, **rows: object) -> tuple[Part, Part]:
    """Return the keys and values of all KV heads."""
    of_heads = {"heads": n_kv_heads, **rows}
    return (
        Part(name="key", numbers=n_kv_heads * d_key, **of_heads),
        Part(name="value", numbers=n_kv_heads * d_value, **of_heads),
    )


def latent(d_latent_kv: int, d_rope: int, **rows: object) -> tuple[Part, ...]:
    """Return the latent c_KV and the rotary key k_R; without rotation only the latent."""
    parts = [Part(name="latent", numbers=d_latent_kv, **rows)]
    return (*parts, Part(name="rope", numbers=d_rope, **rows)) if d_rope else tuple(parts)


def index(d_index: int, pooling: int = 1) -> tuple[Part, ...]:
    """Return the index keys, each of `pooling` tokens where they are pooled."""
    if pooling == 1:
        return (Part(name="index", numbers=d_index),)
    return Part(name="index", numbers=d_index, length=pooling), waiting(d_index, pooling)


def vectors(width: int, d_rope: int, **rows: object) -> tuple[Part, ...]:
    """Return a vector that is key and value at once: what is not rotated, and what is."""
    entry = Part(name="entry", numbers=width - d_rope, **rows)
    return (entry, Part(name="rope", numbers=d_rope, **rows)) if d_rope else (entry,)


def window(width: int, d_rope: int, length: int) -> tuple[Part, ...]:
    """Return the last `length` tokens, a vector each."""
    return vectors(width, d_rope, growth="window", length=length)


def csa(
    width: int,
    d_rope: int,
    d_index: int,
    length: int,
    pooling: int,
    topk: int,
    *,
    overlaps: bool = True,
) -> Layer:
    """Return a window, entries of blocks of tokens, and an index key for each."""
    parts = (
        *window(width, d_rope, length),
        *vectors(width, d_rope, length=pooling, read_rows=topk),
        Part(name="index", numbers=d_index, length=pooling),
        *block(width + d_index, pooling, overlaps=overlaps),
    )
    return Layer("csa", parts)


def hca(width: int, d_rope: int, length: int, pooling: int, *, overlaps: bool = False) -> Layer:
    """Return a window, and entries of blocks of tokens, all of which are read."""
    entries = vectors(width, d_rope, length=pooling)
    of_block = block(width, pooling, overlaps=overlaps)
    return Layer("hca", (*window(width, d_rope, length), *entries, *of_block))


def block(width: int, pooling: int, *, overlaps: bool) -> tuple[Part, ...]:
    """Return what waits of a block that is not complete; where blocks overlap, of the last too."""
    if not overlaps:
        return (waiting(width, pooling),)
    ahead = waiting(pooling * width, pooling, growth="once")
    return waiting(2 * width, pooling), ahead


def waiting(numbers: int, pooling: int, growth: str = "buffer") -> Part:
    """Return what a block that is not complete needs later: vectors, and as many gates."""
    return Part(name="buffer", numbers=2 * numbers, growth=growth, length=pooling, read_rows=0)


def state(numbers: int, heads: int) -> Part:
    """Return a state of so many numbers, which stands for all tokens."""
    return Part(name="state", numbers=numbers, heads=heads, **ONCE)


def conv(channels: int, tokens: int, heads: int) -> Part:
    """Return what a short convolution needs of the last tokens."""
    return Part(name="conv", numbers=channels * tokens, heads=heads, **ONCE)


def kda(heads: int, d_key: int, d_value: int, kernel: int) -> Layer:
    """Kimi Delta Attention: a state of k x v numbers a head; convolutions of q, k and v."""
    of_conv = conv(heads * (2 * d_key + d_value), kernel - 1, heads)
    return Layer("kda", (state(heads * d_key * d_value, heads), of_conv))
