"""The right answer of each guess follows by plain arithmetic, or from what the page draws."""

import math
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS
from tests.ui.screen import charts, component, lead, outside, prose, says, statement

LITE, V3 = PRESETS["deepseek-v2-lite"].config, PRESETS["deepseek-v3"].config
PAGES = (
    *("overview", "rope", "absorption", "attention_maps", "compression", "sparse"),
    *("kv_cache", "decode", "compute", "compare"),
)
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
DRAWN_ALONE = {"preset": "deepseek-v2-lite"}  # the weights that these answers are of


def file(page: str) -> str:
    return "app.py" if page == "overview" else f"pages/{page}.py"


def question(at: AppTest) -> dict:
    return component(at, "guess")


def asks(at: AppTest) -> bool:
    """Return whether a guess is asked for at all."""
    return any(c.proto.component_name == "guess" for c in at.get("bidi_component"))


def position(asked: dict) -> float:
    """Return the right answer by its place on the scale, which is read from its ends."""
    low, high = (amount(asked["answers"][end]) for end in (0, -1))
    share = asked["right"] / (len(asked["answers"]) - 1)
    return low * (high / low) ** share if low else low + share * (high - low)


def amount(text: str) -> float:
    number, prefix = re.match(r"([\d,.]+)\W?([kM]?)", text).groups()
    return float(number.replace(",", "")) * {"": 1, "k": 1e3, "M": 1e6}[prefix]


def chosen(asked: dict) -> str:
    return asked["answers"][asked["right"]]


def cost(at, way: str, column: int) -> str:
    """Return a cell of the page's first table, by what its row's name begins with."""
    (row,) = [name for name in at.table[0].value.index if name.startswith(way)]
    return at.table[0].value.loc[row].iloc[column]


@pytest.mark.parametrize(
    ("variant", "now", "then"),
    [
        ("mla", 512 + 64, 512 + 64),
        ("mqa", 2 * 128, 2 * 128),
        ("mha", 2 * 16 * 128, 2 * 32 * 128),
    ],
)
def test_more_heads_cost_what_the_variant_says(opened, variant, now, then):
    asked = question(opened(variant=variant))
    assert asked["answers"] == [f"{n:,}" for n in (now // 2, now, 2 * now)]
    assert chosen(asked) == f"{then:,}"
    assert (asked["asks"][5:13], asked["asks"][26:28]) == ("32 heads", "16")


def test_the_slowest_pair_turns_once_in_its_own_period(opened):
    asked = question(opened(file("rope")))
    slowed = LITE.rope.scaling.factor  # YaRN slows the slow pairs by all of its factor
    period = 2 * math.pi * LITE.rope.theta ** (1 - 2 / LITE.d_rope) * slowed
    assert position(asked) == pytest.approx(period, rel=1e-6)
    assert amount(asked["true"]) == pytest.approx(period, rel=5e-3)


def test_the_merged_matrix_changes_as_the_page_says(opened):
    at = opened(file("rope"), rope_topic="merged", rope_distance="5")
    number, _ = lead(at)
    assert position(question(at)) == pytest.approx(amount(number), rel=5e-3)
    assert not [
        c
        for c in opened(file("rope"), rope_topic="yarn").get("bidi_component")
        if "guess_merged" in str(c.proto)
    ]


@pytest.mark.parametrize("queries", [1, 8])
def test_the_bracket_saves_what_the_products_cost(opened, queries):
    asked = question(opened(file("absorption"), **DRAWN_ALONE, ab_queries=str(queries)))
    keys, head, latent = 4096 + queries, LITE.d_head, LITE.d_latent_kv
    absorbed = queries * head * latent + queries * latent * keys
    expanded = keys * latent * head + queries * head * keys
    assert position(asked) == pytest.approx(expanded / absorbed, rel=1e-6)


def test_as_many_cells_hold_attention_as_the_map_draws(opened):
    at = opened(file("attention_maps"), **DRAWN_ALONE)
    drawn = next(c for c in charts(at) if c.clicks == "large")
    shown = int((~(drawn.values(0, "z") != drawn.values(0, "z"))).sum())
    assert chosen(question(at)) == str(shown)
    everything = opened(file("attention_maps"), **DRAWN_ALONE, map_causal="0")
    assert chosen(question(everything)) == "121"
    small = {"preset": "small", "map_generated": "16"}
    few = question(opened(file("attention_maps"), **small, variant="dsa"))
    assert chosen(few) == str(1 + 2 + 3 + 13 * 4)
    assert "its indexer chooses" in few["why"]
    blocks = question(opened(file("attention_maps"), **small, variant="block_dsa"))
    assert chosen(blocks) == str(1 + 2 + 3 + 4 + 6 * (5 + 4))  # odd rows read all but their own
    assert says(blocks["why"], "attention_maps.guess_blocks")


def test_mha_fills_the_memory_at_its_own_pace(opened):
    asked = question(opened(file("kv_cache")))
    mha = V3.n_heads * (V3.d_head + V3.d_value)
    tokens = 131_072 * (V3.d_latent_kv + V3.d_rope) / mha
    assert tokens == 2304
    assert position(asked) == pytest.approx(tokens, rel=1e-6)
    assert asked["true"] == "2,304 tokens"


def test_expanding_costs_what_the_table_counts(opened):
    at = opened(file("decode"))
    ways = "MLA, expanded each step", "MLA, absorbed"
    each, absorbed = (amount(cost(at, way, 2)) for way in ways)
    assert position(question(at)) == pytest.approx(each / absorbed, rel=1e-2)


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_the_times_differ_as_in_the_table(opened, phase):
    at = opened(file("compute"), cost_phase=phase)
    slow, fast = ("MHA", "MLA, abs") if phase == "decode" else ("MLA, abs", "MLA, exp")
    seconds = []
    for way in (slow, fast):
        number, unit = re.match(r"([\d.,]+)\s(\S+)", cost(at, way, 3)).groups()
        seconds.append(amount(number) * UNITS[unit.strip(",:;")])
    ratio = seconds[0] / seconds[1]
    assert position(question(at)) == pytest.approx(ratio, rel=1e-2)


def test_one_side_keeps_so_many_times_as_much(opened):
    asked = question(opened(file("compare"), **DRAWN_ALONE))
    assert position(asked) == pytest.approx(2 * 16 * 128 / (512 + 64), rel=1e-6)


@pytest.mark.parametrize("page", ["absorption", "decode", "compute", "compare"])
def test_the_gap_is_the_ratio_of_both_amounts(opened, page):
    asked = question(opened(file(page), **DRAWN_ALONE))
    true = amount(asked["true"])
    for place, (text, told) in enumerate(zip(asked["answers"], asked["told"], strict=True)):
        said = amount(text)
        assert told.startswith(f"You said {text}; it is {asked['true']}: ")
        off = max(said, true) / min(said, true)
        if found := re.search(r": ([\d.]+) times (too much|as much)", told):
            assert float(found[1]) == pytest.approx(off, rel=0.06)
            assert (found[2] == "too much") == (place > asked["right"])
        else:
            assert off < 1.26
            assert told.endswith("close.")


def test_the_gap_of_a_share_is_in_points(opened):
    asked = question(opened(file("sparse")))
    true = position(asked)
    for said, told in zip(np.linspace(0, 100, 41), asked["told"], strict=True):
        if found := re.search(r"([\d.]+) points too (much|little)", told):
            assert float(found[1]) == pytest.approx(abs(said - true), abs=0.6)
            assert (found[2] == "much") == (said > true)
        else:
            assert told.endswith("close.")


def test_a_guess_comes_by_itself_only_where_that_is_wanted(opened):
    assert not question(opened(file("decode")))["comes"]
    asked = question(opened(file("decode"), ask="1", seed="1"))
    assert asked["comes"]
    assert asked["hides"]
    for speaking in ({"lecture": "1"}, {"stop": "1"}):
        page = file("decode" if "lecture" in speaking else "overview")
        assert not asks(opened(page, ask="1", **speaking))


def test_the_answers_that_few_keys_leave_right_are_those_of_the_curve(opened):
    at = opened(file("sparse"), sp_keys="6")
    curve = charts(at)[1]
    keys = curve.values("indexer", "x").tolist()
    drawn = curve.values("indexer", "y")[keys.index(6)]
    asked = question(at)
    assert position(asked) == pytest.approx(drawn)
    assert amount(asked["true"]) == round(drawn)
    assert "read 6 of them" in asked["asks"]


def test_nothing_of_the_planner_tells_how_many_fit(opened):
    hides = question(opened(file("planner")))["hides"]
    keys = ("lead", "planner_sums", "planner_steps", "planner_dealt")
    assert hides == [f".st-key-{key}" for key in keys]


def test_only_what_gives_the_answer_away_is_hidden(opened):
    pages = [page for page in PAGES if page != "compare"]  # which asks beside the data flow
    asked = {page: question(opened(file(page), lang="zh")) for page in pages}
    hiding = [page for page, one in asked.items() if one["hides"]]
    assert hiding == ["absorption", "attention_maps", "compression", "sparse", "kv_cache", "decode"]
    assert ".st-key-absorption-adds" in asked["absorption"]["hides"]
    assert asked["attention_maps"]["hides"] == [".st-key-lead", ".st-key-framed"]
    assert all(re.search("[一-鿿]", one["asks"] + one["why"]) for one in asked.values())


V3_BY_VARIANT = {"preset": "deepseek-v3", "dec_heads": "1", "lang": "en"}
LATENT = 512 + 64  # numbers that MLA keeps of a token


def reads_less() -> int:
    """Return the tokens from which 128 index numbers each and 2,048 latents are less than all."""
    return next(n for n in range(1, 10**4) if 128 * n + LATENT * min(n, 2048) < LATENT * n)


def outgrows() -> int:
    """Return the tokens whose latents are more than a state of 128 heads and three q, k, v."""
    kept = 128 * 128 * 128 + 3 * 3 * 128 * 128  # float32, as the page counts
    return next(n for n in range(1, 10**5) if LATENT * n > kept)


@pytest.mark.parametrize(
    ("variant", "true", "hides"),
    [
        ("dsa", reads_less(), "lead"),
        ("csa", LATENT / ((512 + 128) / 4), "dec_grows"),
        ("hca", LATENT / (512 / 128), "dec_grows"),
        ("kda", outgrows(), "lead"),
    ],
)
def test_a_step_is_asked_of_the_chosen_variant(opened, variant, true, hides):
    at = opened(file("decode"), **V3_BY_VARIANT, variant=variant)
    asked = question(at)
    assert position(asked) == pytest.approx(true, rel=1e-6)
    assert variant.upper() in asked["asks"]
    assert asked["key"] == f"decode_{variant}"
    number = asked["true"].removesuffix(" tokens")
    grown = next((one for one in prose(at) if "on average" in one), "")
    assert number in {"lead": statement(at), "dec_grows": grown}[hides]
    assert number not in asked["asks"]
    chinese = opened(file("decode"), **V3_BY_VARIANT | {"lang": "zh"}, variant=variant)
    assert re.search("[一-鿿]", question(chinese)["asks"] + question(chinese)["why"])


@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize("variant", ["dsa", "csa", "hca", "kda"])
def test_less_work_is_asked_of_the_chosen_variant(opened, variant, phase):
    at = opened(file("compute"), preset="deepseek-v3", variant=variant, cost_phase=phase)
    asked = question(at)
    (turn,) = re.findall(r"from ([\d,]+) (?:cached )?tokens on", statement(at))
    assert asked["true"] == f"{turn} tokens"
    assert position(asked) == pytest.approx(amount(turn), rel=1e-6)
    if phase == "decode":
        assert turn == {"dsa": "2,283", "csa": "1,698", "hca": "989", "kda": "2,126"}[variant]
    assert turn not in asked["asks"]
    assert f" {variant.upper()} " in asked["asks"]
    assert ("“MLA, absorbed”" in asked["asks"]) == (phase == "decode")
    explains = {"dsa": "k = 2,048 keys", "csa": " 4 tokens", "hca": " 128 tokens", "kda": "length"}
    assert explains[variant] in asked["why"]
    assert asked["key"] == f"compute_{phase}_{variant}"


def test_a_variant_that_never_pays_is_not_asked_about(opened):
    wide = {"preset": "small", "d_latent_kv": "2", "d_rope": "4", "n_heads": "1"}
    for page in ("decode", "compute"):  # an index key of 8 numbers beside 6 that are kept
        at = opened(file(page), **wide, variant="dsa")
        assert "never" in statement(at)
        assert not asks(at)


@pytest.mark.parametrize(
    ("page", "variant", "hidden"),
    [
        ("decode", "dsa", {"lead"}),
        ("decode", "csa", {"dec_grows"}),
        ("decode", "kda", {"lead"}),
        ("compute", "dsa", {"lead", "place_over", "place_choosing"}),
        ("compute", "hca", {"lead", "place_over"}),
    ],
)
def test_every_place_that_has_a_variants_answer_is_hidden(opened, page, variant, hidden):
    at = opened(file(page), preset="deepseek-v3")
    at.session_state["settings"]["variant"] = variant
    at.run()
    asked = question(at)
    assert set(asked["hides"]) == {f".st-key-{key}" for key in hidden}
    number = asked["true"].removesuffix(" tokens")
    said = re.compile(rf"(?<![\w.,]){re.escape(number)}(?!\w|[.,]\d)")  # no part of a time or an id
    assert not [one for one in outside(at, {*hidden, "guess"}) if said.search(one)]
    assert [one for one in outside(at, {"guess"}) if said.search(one)]
