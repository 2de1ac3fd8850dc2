"""The overview: its figures, title and scene against layers of the engine."""

import html
import re
from collections.abc import Callable
from math import prod

import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import (
    PRESETS,
    SYMBOLS,
    GroupedConfig,
    GroupedQueryAttention,
    IndexedCache,
    IndexedConfig,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
)
from mla_engine.studies.words import hidden_states
from tests.sampling import ALL
from tests.ui.screen import component, csv, prose, says, statement
from ui.words.numbers import count, digits, mixed, prefixed_count, size, times
from ui.words.text import catalogue, tensor

Opened = Callable[..., AppTest]
Config = GroupedConfig | LatentConfig
TOKENS = 8
# No size at its default and no two alike, so that none can stand for another.
SIZES = {
    "d_model": 96, "n_heads": 6, "n_kv_heads": 3, "d_head": 20, "d_value": 28, "d_latent_kv": 44,
    "d_latent_q": 36, "d_rope": 10,
}  # fmt: skip
LINK = {"preset": "small"} | {name: str(size) for name, size in SIZES.items()}
HEADS = {name: SIZES[name] for name in ("d_model", "n_heads", "d_head", "d_value")}
LATENT = LatentConfig(
    **HEADS, d_latent_kv=44, d_latent_q=36, d_rope=10, latent_norm=True
)  # fmt: skip
LAYERS = {
    "mha": (GroupedConfig(**HEADS, n_kv_heads=6, rope=LATENT.rope), "grouped"),
    "gqa": (GroupedConfig(**HEADS, n_kv_heads=3, rope=LATENT.rope), "grouped"),
    "mqa": (GroupedConfig(**HEADS, n_kv_heads=1, rope=LATENT.rope), "grouped"),
    "mla": (LATENT, "expanded"),
    "mla_absorbed": (LATENT, "absorbed"),
}

PAGES = {
    "q_R": "RoPE", "k_R": "RoPE", "c_KV": "What a smaller cache costs",
    "q_C_absorbed": "Absorption", "o_latent": "Absorption",
}  # fmt: skip


def layer_of(config: Config) -> torch.nn.Module:
    latent = isinstance(config, LatentConfig)
    kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
    return kind(config, device="meta")


def held(config: Config) -> int:
    """Numbers that a real cache has of one token."""
    kind = {LatentConfig: LatentCache, IndexedConfig: IndexedCache}.get(type(config), KVCache)
    return kind.empty(config, capacity=1, dtype=torch.float32).reserved_nbytes // 4


def shapes(config: Config, form: str) -> dict[str, tuple[int, ...]]:
    """The shape of every step of a run."""
    layer, h = layer_of(config), torch.empty(1, TOKENS, config.d_model, device="meta")
    trace = layer.forward_absorbed(h) if form == "absorbed" else layer(h)
    return {step: tuple(getattr(trace, step).shape) for step in trace.steps}


@pytest.mark.parametrize("variant", LAYERS)
def test_a_variant_shows_its_own_layer(
    opened: Opened, downloads: dict[str, object], variant: str
) -> None:
    at = opened(variant=variant, **LINK)
    config, form = LAYERS[variant]
    cached, mha = held(config), held(LAYERS["mha"][0])
    name = variant.removesuffix("_absorbed").upper()
    assert statement(at) == (
        f"Standard attention (MHA) with 6 heads remembers {cached} numbers per token and layer"
        if variant == "mha"
        else f"{name} remembers {cached} numbers per token and layer; standard attention (MHA) "
        f"with the same 6 heads remembers {mha}"
    )
    shows_figures(at, config, cached, mha)
    drawn = shapes(config, form)
    scene = component(at, "scene")
    steps = ", ".join(f"{step} {shape[1:]}" for step, shape in drawn.items())
    assert says(scene["alt"], "flow.alt", steps=steps)
    shows_layer(scene, drawn, cached)
    shows_values(scene, config, form)
    rows = [
        {
            "symbol": step,
            "shape": str(list(shape)),
            "formula": SYMBOLS[step].step(form).formula,
            "cached": SYMBOLS[step].cached,
        }
        for step, shape in drawn.items()
    ]
    pd.testing.assert_frame_equal(csv(downloads["mla_data_flow.csv"]), pd.DataFrame(rows))


DOORS = "I want to understand it", "I give a lecture", "I plan a server"


def shows_figures(at: AppTest, config: Config, cached: int, mha: int) -> None:
    """The four figures, what they are measured by, and what explains them."""
    parameters = sum(p.numel() for p in layer_of(config).parameters())
    equivalent = cached / (config.d_head + config.d_value)
    assert [(m.label, m.value) for m in at.metric] == [
        ("Cache per token", count(cached)),
        ("MHA / this", times(mha / cached)),
        ("Parameters", f"{digits(parameters / 1e6)} M"),
        ("Same memory as GQA with", mixed(equivalent)),
    ]
    starts = "What one layer keeps", "Baseline: plain MHA", "All weights", "How many KV heads"
    for metric, start in zip(at.metric, starts, strict=True):
        assert metric.help.startswith(start)
    of_chip, *told = [c.value for c in at.main.caption]
    assert of_chip.startswith("Only config.json is read")
    assert told == [
        catalogue()["scene.look"]["en"],
        f"numbers a layer, {size(cached * 2)} in bf16",
        f"MHA keeps {count(mha)} numbers a layer",
        "of one attention layer",
        "KV heads",
    ]
    look, *doors, problem = prose(at)
    assert doors == [f"**{door}**" for door in DOORS]
    assert says(look, "overview.look")
    assert says(problem, "overview.problem")
    tensors = re.findall(r"<span.*?</span>", problem)
    assert tensors == [tensor(code) for code in ("c_KV", "k_C", "v_C", "k_R", "q_C")]


def shows_layer(scene: dict, drawn: dict[str, tuple[int, ...]], cached: int) -> None:
    """Blocks with shapes and meanings, the cached ones marked, and what the shelf holds."""
    marked = {step for step in drawn if SYMBOLS[step].cached}
    blocks = {block["code"]: block for block in scene["blocks"]}
    assert {code for code, block in blocks.items() if block["cached"]} == marked != set()
    for code, block in blocks.items():
        numbers = prod(drawn[code])
        shape = " × ".join(map(str, drawn[code][1:]))
        assert (block["numbers"], block["count"]) == (numbers, f"{numbers:,}")
        assert html.unescape(block["meaning"]) == SYMBOLS[code].meaning
        assert block["size"] == f"{shape} = {numbers:,} numbers"
        kept = f"Kept in the cache: {numbers // TOKENS:,} numbers per token."
        assert block["kept"] == (kept if code in marked else "Not kept.")
        assert block["role"] == SYMBOLS[code].role
        assert block["sheets"] == {"h": 6, "g": drawn[code][2]}.get(
            "".join(axis for axis in SYMBOLS[code].axes.split() if axis in "hg"), 1
        )
    assert len({block["place"] for block in blocks.values()}) == len(blocks)
    for picture in scene["pictures"].values():
        shows_picture(picture, blocks, drawn, cached)
    told = scene["texts"]["kept"]
    assert (told[1], told[8]) == (
        f"1 token: {cached} numbers kept", f"8 tokens: {8 * cached:,} numbers kept",
    )  # fmt: skip
    assert scene["texts"]["number"] == f"{cached}"
    assert says(scene["texts"]["part"], "scene.part", shown="8", all="11")
    assert says(scene["shelf"]["size"], "scene.shelf_size", numbers=cached)


def shows_picture(picture: dict, blocks: dict, drawn: dict, cached: int) -> None:
    """One scale for the blocks, what stands on the shelf and the square that tells it."""
    unit = int(picture["unit"]["text"].split()[1].replace(",", ""))
    scale = picture["unit"]["side"] ** 2 / unit
    for code in blocks:
        _, _, width, height = picture["boxes"][code]
        part = 1.0
        if code in picture["cut"]:
            part = float(re.search(r"([\d.]+) % of it", picture["cut"][code])[1]) / 100
        assert width * height == pytest.approx(scale * prod(drawn[code]) * part, rel=1e-2)
        assert part == 1 or width * height < scale * prod(drawn[code])
    assert {curve["to"] for curve in picture["curves"]} == blocks.keys() - {"h"}
    assert all(c["from"] in blocks[c["to"]]["reads"] for c in picture["curves"])
    shelf = picture["shelf"]
    kept = {p["code"]: p["height"] * shelf["width"] / scale for p in shelf["pieces"]}
    marked = {code for code in blocks if SYMBOLS[code].cached}
    assert kept == pytest.approx({code: prod(drawn[code]) / TOKENS for code in marked}, rel=1e-4)
    assert sum(kept.values()) == pytest.approx(cached)
    assert prod(shelf["ghost"]) / scale == pytest.approx(held(LAYERS["mha"][0]), rel=1e-4)


def shows_values(scene: dict, config: Config, form: str) -> None:
    """The numbers on the cards are those of a run of head 0."""
    kind = MultiHeadLatentAttention if isinstance(config, LatentConfig) else GroupedQueryAttention
    layer = kind(config, seed=0, heads=(0,))
    h = torch.from_numpy(hidden_states(tuple(scene["words"]), 0, config.d_model))[None]
    with torch.inference_mode():
        trace = layer.forward_absorbed(h) if form == "absorbed" else layer(h)
    for block in scene["blocks"]:
        axes = SYMBOLS[block["code"]].axes.split()
        place = tuple(0 if axis in "bhg" else slice(None) for axis in axes)
        values = getattr(trace, block["code"])[place].T
        assert torch.tensor(block["cells"]).allclose(values[:8], rtol=1e-2, atol=1e-30)
        assert block["most"] == pytest.approx(float(values[:8].abs().max()))
        assert says(block["cut"], "scene.cut", shown=min(8, len(values)), all=len(values))


@pytest.mark.parametrize("variant", LAYERS)
def test_a_card_tells_the_formula_the_cost_and_the_page(opened: Opened, variant: str) -> None:
    scene = component(opened(variant=variant, **LINK), "scene")
    cards = {block["code"]: block for block in scene["blocks"]}
    config, form = LAYERS[variant]
    done = multiply_adds(config, form)
    for code, card in cards.items():
        said = "It comes from the layer before: no cost here."
        if code != "h":
            said = f"Cost: {prefixed_count(done[code])} multiply-adds for 8 tokens."
        assert card["cost"] == said
        written = re.sub(r"<[^>]*>", "", html.unescape(card["formula"]))
        assert "pre" not in written, "a step without a block is written out"
        assert bool(written) == (code != "h")
        page = PAGES.get(code, "Attention maps")
        assert says(card["open"], "scene.open", page=page)
    assert says(scene["shelf"]["open"], "scene.open", page="KV cache")
    if variant == "mla":
        assert "RMSNorm" in cards["c_KV"]["formula"]
        assert "RoPE" in cards["k_R"]["formula"]


def test_without_rotation_no_rotary_tensor_is_named(opened: Opened) -> None:
    scene = component(opened(variant="mla", **LINK | {"d_rope": "0", "d_latent_q": "0"}), "scene")
    cards = {block["code"]: block for block in scene["blocks"]}
    assert not {"q_R", "k_R", "c_Q"} & cards.keys()
    assert "<mi>R</mi>" not in cards["attention"]["formula"]
    assert "<mi>Q</mi></mrow></msup><mi>&#x1D421;</mi>" in cards["q_C"]["formula"], "W_UQ h"


@pytest.mark.parametrize(("n", "part"), [(1, ""), (256, "… the first 8 of 256 tokens")])
def test_a_sentence_may_have_any_length(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, n: int, part: str
) -> None:
    words = tuple(f"w{place}" for place in range(n))
    monkeypatch.setattr("ui.sources.model.Model.words", words)
    scene = component(opened(variant="mla", **LINK), "scene")
    assert scene["words"] == list(words[:8])
    assert scene["texts"]["part"] == part
    assert len(scene["texts"]["kept"]) == min(n, 8) + 1
    assert all(len(block["cells"][0]) == min(n, 8) for block in scene["blocks"])
    if n == 1:
        assert scene["blocks"][1]["cost"].endswith(" multiply-adds for 1 token.")


def multiply_adds(config: Config, form: str) -> dict[str, int]:
    """Count the products that make each block, by hand from the sizes."""
    d, n, k, v = (SIZES[name] for name in ("d_model", "n_heads", "d_head", "d_value"))
    square = TOKENS * TOKENS * n
    if isinstance(config, GroupedConfig):
        g = config.n_kv_heads
        each = {"q": n * k * d, "k": g * k * d, "v": g * v * d, "u": d * n * v}
        whole = {"attention": square * k, "o": square * v}
    else:
        c, low, r = (SIZES[name] for name in ("d_latent_kv", "d_latent_q", "d_rope"))
        each = {
            "c_Q": low * d, "q_C": n * k * low, "q_R": n * r * low, "c_KV": c * d, "k_R": r * d,
            "u": d * n * v,
        }  # fmt: skip
        if form == "absorbed":
            each |= {"q_C_absorbed": n * k * c, "o": n * v * c}
            whole = {"attention": square * (c + r), "o_latent": square * c}
        else:
            each |= {"k_C": n * k * c, "v_C": n * v * c}
            whole = {"attention": square * (k + r), "o": square * v}
    return {code: TOKENS * number for code, number in each.items()} | whole


def test_one_head_is_said_in_the_singular(opened: Opened) -> None:
    at = opened(variant="gqa", **LINK | {"n_heads": "1", "n_kv_heads": "1"})
    assert says(
        statement(at), "overview.line", variant="GQA", elements="48", heads="1 head", mha="48"
    )


def test_the_figures_are_those_of_a_published_layer(opened: Opened) -> None:
    at = opened()
    at.selectbox[0].set_value("llama-3-8b").run()
    config = PRESETS["llama-3-8b"].config
    parameters = sum(p.numel() for p in layer_of(config).parameters())
    assert [m.value for m in at.metric] == [
        f"{held(config):,}", "4.00×", f"{digits(parameters / 1e6)} M", "8",
    ]  # fmt: skip
    settings = at.session_state["settings"]
    assert (settings["variant"], settings["d_model"]) == ("gqa", config.d_model)
    assert dict(at.query_params) == {"preset": "llama-3-8b"}


def test_what_the_engine_does_not_model_is_said(opened: Opened) -> None:
    at = opened(preset="gpt-oss-20b", variant="gqa")
    assert any(says(caption.value, "common.gap_attention_sinks") for caption in at.caption)


V4 = ("deepseek-v4-flash", "deepseek-v4-pro")  # their caches do not grow evenly, nor GLM-5.3's
# One of every kind of attention, and each whose cache does not grow evenly.
CHOSEN = {preset.kind: key for key, preset in PRESETS.items()}.values()


@pytest.mark.parametrize("key", PRESETS if ALL else sorted({*CHOSEN, *V4, "glm-5.3-flash"}))
def test_a_preset_opens_in_its_variant(opened: Opened, key: str) -> None:
    at = opened(preset=key)
    own = {"glm-5.3-flash": 512 + 128 // 4, **dict.fromkeys(V4, (512 + 128) // 4)}
    assert at.metric[0].value == count(own.get(key) or held(PRESETS[key].config))


@pytest.mark.parametrize("variant", ["gqa", "mla", "mla_absorbed"])
def test_the_code_behind_the_page_is_that_of_its_form(opened: Opened, variant: str) -> None:
    at = opened(variant=variant, code="source", **LINK)
    shown = "".join(block.value for block in at.code)
    assert ("k_C" in shown) == (variant == "mla")
    assert ("q_C_absorbed" in shown) == (variant == "mla_absorbed")
    at = opened(variant=variant, code="snippet", **LINK)
    call = "layer.forward_absorbed(" if variant == "mla_absorbed" else "layer("
    assert f"trace = {call}torch.empty(1, 8, config.d_model" in at.code[0].value
