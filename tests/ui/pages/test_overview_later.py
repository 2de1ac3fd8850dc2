"""The overview of what came after MLA: entries of several tokens, and a state of fixed size."""

from collections.abc import Callable

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import (
    DeltaAttention,
    DeltaCache,
    DeltaConfig,
    PooledAttention,
    PooledCache,
    PooledConfig,
    PooledIndexAttention,
    PooledIndexCache,
    PooledIndexConfig,
    RopeConfig,
)
from mla_engine.studies.words import hidden_states
from tests.ui.screen import component, lead, says, statement

Opened = Callable[..., AppTest]
SIZES = {
    "d_model": 96, "n_heads": 6, "n_kv_heads": 3, "d_head": 20, "d_value": 28, "d_latent_kv": 44,
    "d_latent_q": 36, "d_rope": 10,
}  # fmt: skip
LINK = {"preset": "small"} | {name: str(size) for name, size in SIZES.items()}
POOLED = {
    "d_model": 96, "n_heads": 6, "d_head": 44, "d_latent_q": 36, "d_latent_o": 88,
    "n_output_groups": 3, "window": 3, "d_rope": 10, "rope": RopeConfig(),
}  # fmt: skip
CSA = PooledConfig(
    **POOLED, pooling=2, overlap=True, index_topk=2, n_index_heads=6, d_index=20
)  # fmt: skip
HCA = PooledConfig(**POOLED, pooling=4)
KDA = DeltaConfig(d_model=96, n_heads=6, d_head=20, d_value=28, d_decay=20, d_gate=20)
BLOCKS = PooledIndexConfig(
    d_model=96, n_heads=6, d_head=20, d_value=28, d_latent_kv=44, d_latent_q=36, latent_norm=True,
    rope=None, n_index_heads=3, d_index=20, index_topk=4, pooling=2,
)  # fmt: skip
MHA = 6 * (20 + 28)
STATE = 6 * (20 * 28 + 3 * (20 + 20 + 28))  # and three tokens of the short convolutions
LONG = 2**15  # tokens


@pytest.mark.parametrize(
    ("variant", "config", "grows"), [("csa", CSA, (44 + 20) / 2), ("hca", HCA, 44 / 4)]
)
def test_entries_grow_by_their_share_of_a_token(
    opened: Opened, variant: str, config: PooledConfig, grows: float
) -> None:
    at = opened(variant=variant, **LINK)
    most = max(held(PooledCache, config, n) - grows * n for n in range(24))
    kept, ratio = held(PooledCache, config, LONG), MHA * LONG / held(PooledCache, config, LONG)
    number, said = lead(at)
    assert number == f"{ratio:#.3g}× smaller"
    compared = {"held": f"{kept:,}", "all": f"{MHA * LONG:,}", "heads": "6 heads"}
    further = {"elements": f"{grows:.0f}", "mha": MHA, "fixed": f"{most:.0f}"}
    assert says(said, "overview.line_fixed", tokens=f"{LONG:,}", **compared, **further)
    values = f"{grows:.0f}", f"{ratio:#.3g}×", None, f"{6 / ratio:#.3g}"
    for shown, value in zip(at.metric, values, strict=True):
        assert value in (None, shown.value)
    scene = component(at, "scene")
    shows_held(scene, PooledCache, config)
    blocks = {block["code"]: block for block in scene["blocks"]}
    per = {"csa": 2, "hca": 4}[variant]
    assert blocks["kv_E"]["size"] == f"8/{per} × 44 = {8 * 44 // per} numbers"
    assert says(blocks["kv_E"]["meaning"], "scene.pools", tokens=per)
    assert says(blocks["kv_E"]["kept"], "scene.cached", numbers=44 // per)
    said = "Kept in the cache for the last 3 tokens alone: 44 numbers each."
    assert blocks["kv_T"]["kept"] == said
    marked = {code for code, block in blocks.items() if block["cached"]}
    assert marked - {"k_E"} == {"kv_T", "kv_E"}
    assert (
        blocks["attention"]["size"] == f"6 × 8 × {8 + 8 // per + 1} = {48 * (9 + 8 // per)} numbers"
    )
    assert [piece["code"] for piece in scene["pictures"]["wide"]["shelf"]["pieces"]] == [
        code for code in ("kv_E", "k_E") if code in blocks
    ]
    layer = PooledAttention(config, seed=0, heads=(0,))
    with torch.inference_mode():
        trace = layer(hidden(scene))
    shows(blocks["kv_E"], trace.kv_E[0].T)
    shows(blocks["attention"], trace.attention[0, 0].T)
    assert says(blocks["kv_E"]["cut"], "scene.cut_entries", shown="8", all="44")


def test_a_state_does_not_grow(opened: Opened) -> None:
    at = opened(variant="kda", **LINK)
    first = -(-STATE // MHA)
    assert says(
        statement(at),
        "overview.line_state",
        variant="KDA",
        fixed=f"{STATE:,}",
        heads="6 heads",
        mha=MHA,
        tokens=first,
    )
    shown = {m.label: m.value for m in at.metric}
    assert shown.pop("State") == f"{STATE:,}"
    assert shown.pop("MHA keeps more from token") == str(first)
    assert [*shown] == ["Parameters"]
    assert held(DeltaCache, KDA, first) <= MHA * first
    assert held(DeltaCache, KDA, first - 1) > MHA * (first - 1)
    scene = component(at, "scene")
    shows_held(scene, DeltaCache, KDA)
    assert says(scene["texts"]["each"], "scene.each_fixed", fixed=f"{STATE:,}")
    assert scene["pictures"]["wide"]["shelf"]["pieces"] == []
    blocks = {block["code"]: block for block in scene["blocks"]}
    assert says(blocks["S"]["kept"], "scene.cached_state", numbers=f"{6 * 20 * 28:,}")
    assert {code for code, block in blocks.items() if block["cached"]} == {"S"}
    with torch.inference_mode():
        trace = DeltaAttention(KDA, seed=0, heads=(0,)).forward_recurrent(hidden(scene))
    shows(blocks["S"], trace.S[0, 0].T[:, :8])
    shows(blocks["b"], trace.b[0, :, 0][None])
    assert "8 × 8 of 28 × 20 numbers" in blocks["S"]["cut"]


def test_of_two_tokens_one_index_key_is_drawn_and_kept(opened: Opened) -> None:
    at = opened(variant="block_dsa", **LINK)
    grows, waiting = 44 + 20 // 2, 2 * 20 - 20 // 2
    kept = held(PooledIndexCache, BLOCKS, 32_768)
    assert says(
        statement(at),
        "overview.line_fixed",
        tokens="32,768",
        variant="Block DSA",
        held=f"{kept:,}",
        heads="6 heads",
        all=f"{32768 * MHA:,}",
        elements=grows,
        mha=MHA,
        fixed=waiting,
    )
    assert [m.value for m in at.metric][:2] == [f"{grows}", f"{MHA / (kept / 32_768):#.3g}×"]
    scene = component(at, "scene")
    shows_held(scene, PooledIndexCache, BLOCKS)
    blocks = {block["code"]: block for block in scene["blocks"]}
    assert {"k_I", "z_IE", "q_I", "k_R", "q_R"}.isdisjoint(blocks), "a token's own only go into k_E"
    key = blocks["k_E"]
    assert key["size"] == f"8/2 × 20 = {8 * 20 // 2} numbers"
    assert key["meaning"].endswith("one for all index heads; one stands for 2 tokens")
    assert says(key["kept"], "scene.cached", numbers="10")
    made = 8 * (20 + 20) * 96  # of each token an index key and the logits of its gates
    assert key["cost"] == f"Cost: {made / 1000:.1f}\xa0k multiply-adds for 8 tokens."
    assert {code for code, block in blocks.items() if block["cached"]} == {"c_KV", "k_E"}
    boxes = scene["pictures"]["wide"]["boxes"]
    areas = {code: width * height for code, (_, _, width, height) in boxes.items()}
    assert areas["c_KV"] / areas["k_E"] == pytest.approx(8 * 44 / (8 * 20 / 2), rel=0.02)
    pieces = {one["code"]: one["height"] for one in scene["pictures"]["wide"]["shelf"]["pieces"]}
    assert pieces["c_KV"] / pieces["k_E"] == pytest.approx(44 / 10)
    layer = PooledIndexAttention(BLOCKS, seed=0, heads=(0,))
    with torch.inference_mode():
        trace = layer.forward_absorbed(hidden(scene))
    shows(key, trace.k_E[0].T)
    assert says(key["cut"], "scene.cut_blocks", shown="8", all="20")


def test_a_sentence_too_short_for_an_entry_says_so(opened: Opened) -> None:
    scene = component(opened(variant="hca", preset="deepseek-v2-lite"), "scene")
    entry = next(block for block in scene["blocks"] if block["code"] == "kv_E")
    assert entry["size"] == f"8/128 × 512 = {8 * 512 // 128} numbers"
    assert says(entry["cut"], "scene.no_entry")
    assert "cells" not in entry


def held(kind: type, config: PooledConfig | DeltaConfig, tokens: int) -> int:
    """Numbers that a real cache has of so many tokens."""
    return kind.empty(config, dtype=torch.float32).with_zeros(tokens).nbytes // 4


def shows_held(scene: dict, kind: type, config: PooledConfig | DeltaConfig) -> None:
    """Beside the clock stands what a real cache holds."""
    for n, text in enumerate(scene["texts"]["kept"]):
        assert text == f"{n} token{'s' * (n != 1)}: {held(kind, config, n):,} numbers kept"


def hidden(scene: dict) -> torch.Tensor:
    """Return what enters the layer."""
    return torch.from_numpy(hidden_states(tuple(scene["words"]), 0, 96))[None]


def shows(block: dict, values: torch.Tensor) -> None:
    """The first numbers are on the card."""
    assert torch.tensor(block["cells"]).allclose(values[:8], rtol=1e-2, atol=1e-30)
