"""vLLM's blocks for DeepSeek-V4, whose layers fall into five groups.

One group has the entries and index keys of all CSA and HCA layers, two have the windows, and one
each the tokens that wait to be pooled by CSA and by HCA: kept in float32, as windows of their own.
All take blocks from one pool, so a block is as large as its largest use. Rows are aligned, and how
the groups share a block has changed twice (vllm #44376, #48993, #54703).
"""

from collections import Counter
from fractions import Fraction
from math import ceil

from kvcount.dtypes import Storage
from kvcount.logs.blocks import CSA, FULL, HCA, WINDOW, Pool
from kvcount.parts import Layer, Model, Part

FLOAT32 = 4
ALIGNED = 576  # bytes of which a layer's share of a block is a multiple
TOKENS = {FULL: 256, WINDOW: 64, CSA: 4, HCA: 8}  # of a block
OVERLAP = {"csa": 2, "hca": 1}  # groups of tokens that wait at once
LAYOUTS = ("dense", "by_size", "in_tuples")  # of a block, the newest first


def pools(model: Model, storage: Storage) -> list[Pool]:
    """Return the pool in each of the LAYOUTS; none of a model that is not DeepSeek-V4's."""
    count = Counter(layer.kind for layer in model.layers)
    if not (count["csa"] and count["hca"]) or count.keys() - {"csa", "hca", "window"}:
        return []
    csa, hca = (next(one for one in model.layers if one.kind == kind) for kind in OVERLAP)
    often = max(1, len(model.layers) // count["csa"])
    windows = ceil(Fraction(len(model.layers), often))  # layers in the larger group of windows
    entry, index, pooled = (
        _share(csa, storage, "entry"),
        _share(csa, storage, "index"),
        _share(hca, storage, "entry"),
    )
    wide = _share(csa, Storage("fp8"), "index")  # before #48993 narrower keys have this room, too
    most = max(windows, count["csa"], count["hca"])
    block = {
        "dense": max(
            count["csa"] * (entry + index) + count["hca"] * pooled,
            windows * entry,
            count["csa"] * (_waiting(csa, "entry") + _waiting(csa, "index")),
            count["hca"] * _waiting(hca, "entry"),
        ),
        "by_size": most * entry + count["csa"] * wide + count["hca"] * pooled,
        "in_tuples": most * (entry + wide + pooled),
    }
    kept = {kind: _growing(one, "entry").length for kind, one in (("csa", csa), ("hca", hca))}
    shape = {
        "layers": 1,
        "tokens": TOKENS,
        "groups": {FULL: 1, WINDOW: often, CSA: 1, HCA: 1},
        "windows": {WINDOW: next(part.length for part in csa.parts if part.growth == "window")}
        | {kind: OVERLAP[kind] * length for kind, length in kept.items()},
    }
    return [Pool(page=Fraction(block[name]), layout=name, **shape) for name in LAYOUTS]


def _growing(layer: Layer, name: str) -> Part:
    return next(part for part in layer.growing if part.name == name)


def _share(layer: Layer, storage: Storage, name: str) -> int:
    """Return the bytes of a layer's entries, or of its index keys, in a block."""
    parts = [part for part in layer.growing if part.name in (name, _BESIDE.get(name))]
    rows = Fraction(TOKENS[FULL], parts[0].length)
    return _aligned(rows * sum(storage.row_bytes(layer.kind, part) for part in parts))


def _waiting(layer: Layer, name: str) -> int:
    """Return the bytes of a layer's tokens that wait, in a block: a vector and a gate each."""
    width = sum(part.numbers for part in layer.growing if part.name in (name, _BESIDE.get(name)))
    row = 2 * OVERLAP[layer.kind] * width * FLOAT32
    return _aligned(Fraction(TOKENS[layer.kind] * row))


_BESIDE = {"entry": "rope"}


def _aligned(n_bytes: Fraction) -> int:
    return ALIGNED * ceil(n_bytes / ALIGNED)
