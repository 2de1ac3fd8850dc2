"""The scene's geometry: areas to scale, lanes that stay, curves that do not cross."""

from functools import cache
from itertools import combinations
from math import prod

import pytest
import torch

from mla_engine import PRESETS, SYMBOLS, GroupedConfig, LatentConfig, costs, mechanisms
from ui.frame.pages import PAGES
from ui.parts.scene import layout
from ui.parts.scene.layout import TALL, WIDE, Block, Frame, Layout
from ui.parts.scene.tensors import Shapes, Tensor, tensors
from ui.settings.sizes import SMALL_CONFIG

# One of each shape: with and without a query latent, few heads and many, wide and narrow.
SHAPES = (
    "deepseek-v2-lite", "deepseek-v3", "minicpm3-4b", "llama-3-8b", "gpt-oss-120b", "a.x-k1",
)  # fmt: skip
BASES = {"small": SMALL_CONFIG} | {key: PRESETS[key].config for key in SHAPES}
TWO_PERCENT = 0.02
SEEN = 4  # units of the picture, of which 400 stand side by side on a phone
STEPS = 60  # at which a curve is looked at
every_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES)
every_frame = pytest.mark.parametrize("frame", [WIDE, TALL], ids=["wide", "tall"])


def shapes(config: GroupedConfig | LatentConfig, form: str, tokens: int) -> Shapes:
    """Return the shape of every step of a run, by the engine itself."""
    layer = mechanisms.of(config).layer(config, device="meta")
    h = torch.empty(1, tokens, config.d_model, device="meta")
    (one,) = (one for one in mechanisms.of(config).forms if one.symbols == form)
    trace = one.forward(layer, h)
    return {step: tuple(getattr(trace, step).shape) for step in trace.steps}


@cache
def variants(base: GroupedConfig | LatentConfig, tokens: int = 8) -> dict[str, list[Tensor]]:
    """Return the tensors of every variant of a model's sizes."""
    sizes, found = mechanisms.sizes_of(base), {}
    every = mechanisms.variants()
    for code in PAGES["overview"].variants:
        variant = every[code]
        form = mechanisms.form_of(code).symbols
        config = variant.config(sizes, base)
        found[code] = tensors(form, shapes(config, form, tokens))
    return found


@cache
def scenes(
    base: GroupedConfig | LatentConfig, tokens: int = 8, frame: Frame = WIDE
) -> dict[str, list[Block]]:
    every = variants(base, tokens)
    together = Layout(every.values(), costs.mha_cache_elements(base), frame)
    return {code: together.blocks(shown) for code, shown in every.items()}


@pytest.mark.parametrize(
    ("variant", "codes"),
    {
        "mha": "h q k v attention o u",
        "gqa": "h q k v attention o u",
        "mla": "h c_Q q_C q_R c_KV k_C v_C k_R attention o u",
        "mla_absorbed": "h c_Q q_C q_C_absorbed q_R c_KV k_R attention o_latent o u",
        "dsa": "h c_Q q_C q_C_absorbed q_R c_KV k_R k_I attention o_latent o u",
        "csa": "h c_Q q kv_T kv_E k_E attention o c_O u",
        "hca": "h c_Q q kv_T kv_E attention o c_O u",
        "kda": "h q_D k_D v_D a b S o o_gated u",
    }.items(),
)
def test_each_variant_shows_its_tensors_as_large_as_they_are(variant, codes):
    shown = {block.tensor.code: block.tensor for block in scenes(SMALL_CONFIG)[variant]}
    assert list(shown) == codes.split()
    sizes = {"h": 64, "c_Q": 48, "q_C": 4 * 16, "q_C_absorbed": 4 * 32, "q_R": 4 * 8, "c_KV": 32}
    sizes |= {"k_C": 4 * 16, "v_C": 4 * 16, "k_R": 8, "attention": 4 * 8, "o_latent": 4 * 32}
    sizes |= {"o": 4 * 16, "u": 64, "q": 64}
    sizes |= {"k_I": 16}
    if variant in ("csa", "hca"):  # heads as wide as the latent; over tokens, entries and the sink
        pooling = {"csa": 2, "hca": 4}[variant]
        sizes |= {"q": 4 * 32, "kv_T": 32, "kv_E": 32 / pooling, "k_E": 16 / pooling}
        sizes |= {"attention": 4 * (8 + 8 // pooling + 1), "o": 4 * 32, "c_O": 64}
    wide = "k", "v", "q_D", "k_D", "v_D", "a", "o_gated"
    sizes |= dict.fromkeys(wide, 4 * 16) | {"b": 4}
    sizes |= {"S": 4 * 16 * 16 / 8}  # of all tokens together
    for code, tensor in shown.items():
        assert tensor.numbers == 8 * sizes[code], code
    assert shown["o"].sheets == 4
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
    chosen = {b.tensor.code: b.tensor.reads for b in scenes(SMALL_CONFIG)["dsa"]}
    of_mla = set(absorbed["attention"])
    assert set(chosen["attention"]) == of_mla | {"k_I"}
    entries = {b.tensor.code: b.tensor.reads for b in scenes(SMALL_CONFIG)["csa"]}
    assert entries["kv_E"] == ("h",)
    assert set(entries["attention"]) == {"q", "kv_T", "kv_E", "k_E"}
    assert set(entries["o"]) == {"attention", "kv_T", "kv_E"}
    assert entries["c_O"] == ("o",)
    state = {b.tensor.code: b.tensor.reads for b in scenes(SMALL_CONFIG)["kda"]}
    assert set(state["S"]) == {"a", "b", "k_D", "v_D"}
    assert set(state["o"]) == {"S", "q_D"}
    assert state["u"] == ("o_gated",)


def test_only_what_grows_is_kept_of_a_token():
    kept = {
        code: {b.tensor.code: b.tensor.cached for b in blocks if b.tensor.cached}
        for code, blocks in scenes(SMALL_CONFIG).items()
    }
    assert kept["csa"] == {"kv_E": 32 / 2, "k_E": 16 / 2}, "not the window"
    assert kept["hca"] == {"kv_E": 32 / 4}
    assert kept["kda"] == {}
    for code, numbers in kept.items():
        sizes = mechanisms.sizes_of(SMALL_CONFIG) | {"n_kv_heads": 4}
        config = mechanisms.variants()[code].config(sizes, SMALL_CONFIG)
        assert sum(numbers.values()) == costs.cache_elements(config)


@every_base
@every_frame
def test_areas_are_to_one_scale_in_all_variants(base, frame):
    drawn = scenes(base, frame=frame)
    every = [block for blocks in drawn.values() for block in blocks]
    whole = [block for block in every if block.share == 1]
    largest = max(whole, key=lambda block: block.width)
    scale = largest.width * largest.height / numbers_of(largest)
    for block in every:
        numbers = numbers_of(block) * block.share
        assert block.width * block.height == pytest.approx(scale * numbers, rel=TWO_PERCENT)
        if block.share < 1:  # as large as any may be, and it would be larger
            assert 0 < block.share < 1
            assert block.height == pytest.approx(max(other.height for other in every))


def numbers_of(block: Block) -> float:
    """Return a tensor's numbers; of entries, which few tokens may not fill, the tokens' share."""
    *_, width = block.tensor.shape
    if block.tensor.code in ("kv_E", "k_E"):
        return 8 * width / block.tensor.pooled
    return prod(block.tensor.shape)


@every_base
@every_frame
def test_what_is_kept_of_a_token_can_be_seen(base, frame):
    together = Layout(variants(base).values(), costs.mha_cache_elements(base), frame)
    seen = []
    for shown in variants(base).values():
        kept = sum(one.cached for one in shown)
        if kept * 100 > costs.mha_cache_elements(base):
            assert kept * together.scale >= SEEN**2
            seen.append(kept)
    assert len(seen) >= 5, "all but few numbers beside many heads', and a state"


@every_base
@every_frame
def test_blocks_and_their_names_stand_apart_within_the_picture(base, frame):
    for blocks in scenes(base, frame=frame).values():
        for block in blocks:
            (x, y), (width, height) = turned(block, frame)
            assert x >= 0
            assert x + width <= layout.STAGES * frame.stage
            assert y >= frame.names - 1e-6
            assert y + height <= frame.lanes + 1e-6
        for one, other in combinations(blocks, 2):
            (x0, y0), (w0, h0) = turned(one, frame)
            (x1, y1), (w1, h1) = turned(other, frame)
            beside = x0 + w0 < x1 or x1 + w1 < x0
            (upper, high), (lower, _) = sorted([(y0, h0), (y1, h1)])
            assert beside or upper + high + frame.names <= lower + 1e-6


def turned(block: Block, frame: Frame) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return place and size, along the stages first."""
    place, size = (block.x, block.y), (block.width, block.height)
    return (place[::-1], size[::-1]) if frame.tall else (place, size)


@every_base
@every_frame
def test_lanes_and_stages_are_the_same_in_every_variant(base, frame):
    places: dict[tuple[int, int], tuple[float, float]] = {}
    for blocks in scenes(base, frame=frame).values():
        for block in blocks:
            middle = block.x + block.width / 2, block.y + block.height / 2
            at = block.tensor.stage, block.tensor.lane
            assert places.setdefault(at, middle) == pytest.approx(middle)
    roles = {SYMBOLS[b.tensor.code].role for b in scenes(base, frame=frame)["mla"]}
    assert roles >= {"rope", "latent", "key"}


@every_base
@every_frame
def test_curves_do_not_cross(base, frame):
    for code, blocks in scenes(base, frame=frame).items():
        drawn, crossing = layout.curves(blocks, frame), set()
        assert len(drawn) == sum(len(block.tensor.reads) for block in blocks)
        for (source, to, one), (other_source, other_to, other) in combinations(drawn, 2):
            if source == other_source:
                continue
            one, other = along(one, frame), along(other, frame)
            begin, end = max(one[0], other[0]), min(one[2], other[2])
            if begin >= end:
                continue
            steps = [begin + (end - begin) * n / STEPS for n in range(1, STEPS)]
            sides = {height(one, x, frame) > height(other, x, frame) for x in steps}
            if len(sides) > 1:
                crossing.add(((source, to), (other_source, other_to)))
        # key and value at once, of tokens and of entries: one of these two pairs has to cross
        once = {(("kv_E", "attention"), ("kv_T", "o"))} if code in ("csa", "hca") else set()
        assert crossing <= once | {pair[::-1] for pair in once}


def along(ends: list[float], frame: Frame) -> list[float]:
    """Return the ends of a curve, along the stages first."""
    x0, y0, x1, y1 = ends
    return [y0, x0, y1, x1] if frame.tall else ends


def height(ends: list[float], x: float, frame: Frame) -> float:
    """Return the height of a curve at x: level, then in a straight line to its end."""
    x0, y0, x1, y1 = ends
    turn = max(x0, x1 - frame.bend)
    return y0 if x <= turn else y0 + (y1 - y0) * (x - turn) / (x1 - turn)


@pytest.mark.parametrize("tokens", [1, 2, 8])
def test_any_number_of_tokens_has_a_picture(tokens):
    for blocks in scenes(SMALL_CONFIG, tokens).values():
        assert all(min(block.width, block.height) > 0 for block in blocks)
        whole = [one.tensor for one in blocks if one.tensor.sheets == 1 and not one.tensor.pooled]
        assert all(tensor.shape[1] == tokens for tensor in whole)
