"""The scene's geometry: areas to scale, lanes that stay, curves that do not cross."""

from functools import cache
from itertools import combinations
from math import prod

import pytest
import torch

from mla_engine import PRESETS, SYMBOLS, GroupedConfig, LatentConfig, mechanisms
from ui.engine.model import SMALL_CONFIG
from ui.parts.scene import layout
from ui.parts.scene.layout import Block, Layout, Tensor

BASES = {"small": SMALL_CONFIG} | {key: preset.config for key, preset in PRESETS.items()}
TWO_PERCENT = 0.02
STEPS = 60  # at which a curve is looked at


def shapes(config: GroupedConfig | LatentConfig, form: str, tokens: int) -> layout.Shapes:
    """Of every step of a run, by the engine itself."""
    layer = mechanisms.of(config).layer(config, device="meta")
    h = torch.empty(1, tokens, config.d_model, device="meta")
    trace = layer.forward_absorbed(h) if form == "absorbed" else layer(h)
    return {step: tuple(getattr(trace, step).shape) for step in trace.steps}


def variants(base: GroupedConfig | LatentConfig, tokens: int = 8) -> dict[str, list[Tensor]]:
    """The tensors of every variant of a model's sizes."""
    sizes, found = mechanisms.sizes_of(base), {}
    for code, variant in mechanisms.variants().items():
        form = mechanisms.form_of(code).symbols
        config = variant.config(sizes, base)
        found[code] = layout.tensors(form, shapes(config, form, tokens))
    return found


@cache
def scenes(base: GroupedConfig | LatentConfig, tokens: int = 8) -> dict[str, list[Block]]:
    every = variants(base, tokens)
    together = Layout(every.values())
    return {code: together.blocks(tensors) for code, tensors in every.items()}


@pytest.mark.parametrize(
    ("variant", "codes"),
    {
        "mha": "h q k v attention o u",
        "gqa": "h q k v attention o u",
        "mla": "h c_Q q_C q_R c_KV k_C v_C k_R attention o u",
        "mla_absorbed": "h c_Q q_C q_C_absorbed q_R c_KV k_R attention o_latent o u",
    }.items(),
)
def test_each_variant_shows_its_tensors_as_large_as_they_are(variant, codes):
    shown = {block.tensor.code: block.tensor for block in scenes(SMALL_CONFIG)[variant]}
    assert list(shown) == codes.split()
    sizes = {"h": 64, "c_Q": 48, "q_C": 4 * 16, "q_C_absorbed": 4 * 32, "q_R": 4 * 8, "c_KV": 32}
    sizes |= {"k_C": 4 * 16, "v_C": 4 * 16, "k_R": 8, "attention": 4 * 8, "o_latent": 4 * 32}
    sizes |= {"o": 4 * 16, "u": 64, "q": 64}
    for code, tensor in shown.items():
        if code in sizes:
            assert tensor.numbers == 8 * sizes[code], code
    assert shown["attention"].sheets == 4
    assert shown["h"].sheets == 1


def test_what_is_left_out_is_read_through():
    shown = {block.tensor.code: block.tensor.reads for block in scenes(SMALL_CONFIG)["mla"]}
    assert shown["c_KV"] == ("h",)
    assert shown["q_R"] == ("c_Q",)
    assert set(shown["attention"]) == {"q_C", "k_C", "q_R", "k_R"}
    assert set(shown["o"]) == {"attention", "v_C"}
    absorbed = {b.tensor.code: b.tensor.reads for b in scenes(SMALL_CONFIG)["mla_absorbed"]}
    assert set(absorbed["attention"]) == {"q_C_absorbed", "c_KV", "q_R", "k_R"}
    assert set(absorbed["o_latent"]) == {"attention", "c_KV"}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_areas_are_to_one_scale_in_all_variants(base):
    drawn = scenes(base)
    largest = max((b for blocks in drawn.values() for b in blocks), key=lambda b: b.width)
    scale = largest.width * largest.height / prod(largest.tensor.shape)
    for blocks in drawn.values():
        for block in blocks:
            area = block.width * block.height
            assert area == pytest.approx(scale * prod(block.tensor.shape), rel=TWO_PERCENT)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_blocks_and_their_names_stand_apart_within_the_picture(base):
    for blocks in scenes(base).values():
        for block in blocks:
            assert block.x >= 0
            assert block.x + block.width <= layout.WIDTH
            assert block.y >= layout.LABEL - 1e-6
            assert block.y + block.height <= layout.HEIGHT
        for one, other in combinations(blocks, 2):
            beside = one.x + one.width < other.x or other.x + other.width < one.x
            upper, lower = sorted((one, other), key=lambda block: block.y)
            assert beside or upper.y + upper.height + layout.LABEL <= lower.y + 1e-6


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_lanes_and_stages_are_the_same_in_every_variant(base):
    places: dict[tuple[int, int], tuple[float, float]] = {}
    for blocks in scenes(base).values():
        for block in blocks:
            middle = block.x + block.width / 2, block.y + block.height / 2
            at = block.tensor.stage, block.tensor.lane
            assert places.setdefault(at, middle) == pytest.approx(middle)
    assert {SYMBOLS[b.tensor.code].role for b in scenes(base)["mla"]} >= {"rope", "latent", "key"}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_curves_do_not_cross(base):
    for blocks in scenes(base).values():
        drawn = layout.curves(blocks)
        assert len(drawn) == sum(len(block.tensor.reads) for block in blocks)
        for (source, to, one), (other_source, other_to, other) in combinations(drawn, 2):
            if source == other_source:
                continue
            begin, end = max(one[0], other[0]), min(one[2], other[2])
            if begin >= end:
                continue
            steps = [begin + (end - begin) * n / STEPS for n in range(1, STEPS)]
            sides = {height(one, x) > height(other, x) for x in steps}
            assert len(sides) == 1, (source, to, other_source, other_to)


def height(ends: list[float], x: float) -> float:
    """Where a curve is at x: level, then in a straight line to its end, as it bends steadily."""
    x0, y0, x1, y1 = ends
    turn = max(x0, x1 - layout.BEND)
    return y0 if x <= turn else y0 + (y1 - y0) * (x - turn) / (x1 - turn)


@pytest.mark.parametrize("tokens", [1, 2, 8])
def test_any_number_of_tokens_has_a_picture(tokens):
    for blocks in scenes(SMALL_CONFIG, tokens).values():
        assert all(min(block.width, block.height) > 0 for block in blocks)
        assert all(block.tensor.shape[1] == tokens for block in blocks if block.tensor.sheets == 1)
