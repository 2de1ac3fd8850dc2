"""Every number that the story says is the engine's.

Each step is found by its page and state, so steps may move; each has a row here.
"""

import re
from collections.abc import Callable

import pytest

from mla_engine import PRESETS, costs, mechanisms
from mla_engine.studies.bracketing import bracketings
from tests.ui.story_model import (
    BOAT,
    DAN,
    LAMP,
    LAST,
    WORDS,
    attention,
    changes,
    measured,
    model,
    told,
)
from tests.ui.test_story import NAMED, NUMBER
from ui.engine.trained import OWN
from ui.frame.story import Step, steps

LITE, V3 = PRESETS["deepseek-v2-lite"], PRESETS["deepseek-v3"]
LITE_HEADS, V3_HEADS = str(LITE.config.n_heads), str(V3.config.n_heads)


def numbers(step: Step) -> list[str]:
    return re.findall(NUMBER, re.sub(NAMED, "", step.say["en"]))


def percent(part: float, digits: int = 0) -> str:
    return f"{100 * part:.{digits}f}"


def held(code: str) -> str:
    layers, words = model(code).config.n_layers, len(WORDS)
    return f"{costs.cache_elements(model(code).config.attention) * layers * words:,}"


def of_variant(code: str) -> str:
    """Numbers a token and layer at DeepSeek-V2-Lite's sizes, as the overview has them."""
    sizes = mechanisms.sizes_of(LITE.config) | {"n_kv_heads": 8}
    return f"{costs.cache_elements(mechanisms.variants()[code].config(sizes, LITE.config)):,}"


def gibibytes(elements: int) -> str:
    """Of DeepSeek-V3's layers and longest shown conversation in bf16, with three digits."""
    return f"{elements * V3.n_layers * 2 * 131_072 / 2**30:.3g}"


def work(form: str) -> int:
    found = bracketings(V3.config, "scores", queries=1, keys=4096 + 1)[form]
    return sum(found.multiply_adds)


def intensity(form: str, code: str = "mla") -> str:
    sizes = mechanisms.sizes_of(V3.config) | {"n_kv_heads": 8}
    config = mechanisms.variants()[code].config(sizes, V3.config)
    return f"{costs.decode(config, 2**15, form, batch=32).flops_per_byte:.3g}"


def cached(code: str) -> str:
    return str(measured().plan.variants[code].cached)


def kept(task: str, rank: int) -> str:
    return percent(changes("rank", rank)[task].after)


EXPANDED = {"preset": "deepseek-v3", "ab_order": "expanded"}
ABSORBED = {"preset": "deepseek-v3", "ab_order": "absorbed"}
BACK = {"trained_layer": 0, "map_head": 1, "map_query": BOAT, "map_key": DAN}
# (page, state): the numbers of its steps, in the order of the sentences.
SAID = [
    ("language_model", {}, lambda: [[], [str(len(WORDS)), held("mla"), held("mha")], []]),
    ("language_model", {"sentence": OWN.replace("boat anna", "boat ben")}, lambda: [[]]),
    (
        "attention_maps",
        {},
        lambda: [
            [percent(attention(1, 0)[LAST, LAMP], 1)],
            [str(model().config.attention.n_heads)],
            [str(model().config.attention.d_latent_kv), str(len(WORDS))],
        ],
    ),
    ("attention_maps", BACK, lambda: [[percent(attention(0, 1)[BOAT, DAN], 1)], []]),
    (
        "trained_heads",
        {"th_head": "0.1"},
        lambda: [[percent(changes("head", 0, 1)["recall"].after), "100"]],
    ),
    (
        "trained_heads",
        {"th_cut": "rotary"},
        lambda: [[percent(changes("rotary")["recall"].after), "100"]],
    ),
    (
        "trained_heads",
        {"th_cut": "rank", "th_rank": 16},
        lambda: [
            ["16", str(model().config.attention.d_latent_kv), kept("recall", 16), kept("copy", 16)],
        ],
    ),
    (
        "trained_heads",
        {"th_cut": "rank", "th_rank": 8},
        lambda: [["8", kept("recall", 8), kept("copy", 8)]],
    ),
    (
        "quality",
        {"quality_task": "recall"},
        lambda: [[cached("mla"), cached("mha")]],
    ),
    ("overview", {"variant": "mha"}, lambda: [[], [], [of_variant("mha")]]),
    ("overview", {"variant": "gqa"}, lambda: [[of_variant("gqa")]]),
    ("overview", {"variant": "mqa"}, lambda: [[LITE_HEADS, of_variant("mqa")]]),
    (
        "overview",
        {},
        lambda: [
            [f"{LITE.config.d_model:,}", str(LITE.config.d_latent_kv)],
            [LITE_HEADS],
            [of_variant("mla"), of_variant("mha")],
            [str(LITE.config.d_rope)],
        ],
    ),
    (
        "overview",
        {"preset": "deepseek-v3"},
        lambda: [
            [
                V3_HEADS,
                str(costs.cache_elements(V3.config)),
                f"{costs.mha_cache_elements(V3.config):,}",
            ]
        ],
    ),
    (
        "kv_cache",
        {},
        lambda: [
            ["131,072", gibibytes(costs.mha_cache_elements(V3.config))],
            [
                "131,072",
                gibibytes(costs.mha_cache_elements(V3.config)),
                gibibytes(costs.cache_elements(V3.config)),
            ],
        ],
    ),
    ("kv_cache", {"kv_view": "memory"}, lambda: [[]]),
    ("worked_example", {}, lambda: [[]]),
    ("absorption", EXPANDED, lambda: [[V3_HEADS], ["4,096", f"{work('expanded') / 1e9:.1f}"]]),
    ("absorption", ABSORBED, lambda: [[], [f"{work('expanded') / work('absorbed'):.0f}"]]),
    ("absorption", {}, lambda: [[]]),
    ("rope", {}, lambda: [[], []]),
    ("rope", {"rope_topic": "merged"}, lambda: [[], []]),
    (
        "compute",
        {"preset": "deepseek-v3"},
        lambda: [[intensity("absorbed"), intensity("expanded", "mha")]],
    ),
    ("quiz", {"quiz_seed": 15}, lambda: [[]]),
]


@pytest.mark.parametrize(("page", "own", "said"), SAID)
def test_every_number_is_the_engines(
    page: str, own: dict, said: Callable[[], list[list[str]]]
) -> None:
    assert [numbers(step) for step in told(page, **own)] == said()


def test_no_step_is_left_out() -> None:
    rows = [(page, tuple(own.items())) for page, own, _ in SAID]
    assert {(step.page, tuple(step.own.items())) for step in steps()} == set(rows)
    assert len(set(rows)) == len(rows)
