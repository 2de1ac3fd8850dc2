"""The cache page with models that do not keep a row for each token: CSA, HCA and KDA as their own.

What is drawn is compared with counts by hand, and these with the tensors of real caches.
"""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import DeltaConfig, PooledConfig, mechanisms
from mla_engine.given_preset import given_preset
from tests.engine.kinds import OF_DELTA, OF_POOLED
from tests.engine.test_pooled_costs import V4, V4_HCA
from tests.ui.pages.kv_cache import rows
from tests.ui.pages.kv_cache.side import DTYPES, Side, sides
from tests.ui.pages.test_kv_cache import PAGE, TOPICS, expected, shows
from tests.ui.screen import charts, statement
from ui.settings import parsers

Opened = Callable[..., AppTest]
Config = PooledConfig | DeltaConfig
KDA = DeltaConfig(d_model=7168, n_heads=96, d_head=128, d_decay=128, d_gate=128)
LAYERS = {"n_layers": 43, "max_context": 2**20}


def key(config: Config, **told: object) -> str:
    return given_preset(config, name="own model", **LAYERS | told).key


CSA_KEY, HCA_KEY = key(V4, n_caches=21), key(V4_HCA, n_caches=20)
KDA_KEY = key(KDA, n_layers=93, n_caches=69)
LINKS = {
    "CSA and KDA": {"kv_left": CSA_KEY, "kv_right": KDA_KEY, "kv_type": "fp8", "kv_batch": "2"},
    "HCA and MLA": {"kv_left": HCA_KEY, "kv_context": "2048", "kv_ranks": "4", "kv_unit": "GB"},
    "KDA and CSA": {"kv_left": KDA_KEY, "kv_right": CSA_KEY, "kv_log": "0", "kv_type": "fp32"},
}


@pytest.fixture(autouse=True)
def of_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such models can be chosen, whether one is stored or not."""
    monkeypatch.setattr(parsers, "OF_PRESETS", parsers.OF_PRESETS | {"pooled", "delta"})


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic != "memory"])
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_topic_shows_what_is_counted_of_both_models(
    opened: Opened, downloads: dict[str, object], topic: str, link: dict[str, str]
) -> None:
    at = opened(PAGE, kv_view=topic, **link)
    assert not at.warning
    shows(at, topic, link, downloads)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_without_parameters_nothing_is_said_to_fit(opened: Opened, link: dict[str, str]) -> None:
    at = opened(PAGE, kv_view="memory", **link)
    assert not at.warning
    assert "weights" in statement(at)
    assert not re.search(r"room for [\d,]+ sequences", statement(at))


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_snippet_makes_the_numbers_of_the_title(
    opened: Opened, topic: str, link: dict[str, str]
) -> None:
    at = opened(PAGE, kv_view=topic, code="snippet", **link)
    with redirect_stdout(io.StringIO()) as printed:
        exec(at.code[0].value, {})
    last = [float(n) for n in printed.getvalue().splitlines()[-1].split()]
    left = sides(link)[0]
    wanted = expected(topic, left)
    if topic == "layouts":
        wanted = [rows.total(left.rows(config)) for config in (left.config, left.mla)]
    assert set(wanted) <= set(last)


SMALL = OF_POOLED | OF_DELTA
SMALL.pop("window")  # no page shows only a window


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", [0, 1, 9, 14])
@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL)
def test_what_is_compared_with_is_what_real_caches_hold(
    config: Config, tokens: int, dtype: str
) -> None:
    one = Side(given_preset(config, name="small").key, context=tokens, type=dtype)
    cache = mechanisms.of(config).caches[0].empty(config, dtype=DTYPES[dtype]).with_zeros(tokens)
    held: dict[str, int] = {}
    for name, tensor in cache.buffers.items():
        kind = OF_BUFFER.get(name, "waiting")
        held[kind] = held.get(kind, 0) + tensor.nbytes
    assert {kind: n_bytes for kind, (_, n_bytes) in one.rows(config).items()} == {
        kind: n for kind, n in held.items() if n
    }
    assert one.of_layer(config, tokens, {"fp32": 4, "bf16": 2}[dtype]) == cache.nbytes


OF_BUFFER = {
    "kv_T": "window", "kv_E": "entries", "k_E": "index keys", "S": "state",
    **dict.fromkeys("qkv", "convolutions"),
}  # fmt: skip


def test_a_window_is_not_divided_by_the_heads_and_a_state_is(opened: Opened) -> None:
    """By hand: on each of 8 GPUs all of CSA's window and entries, and 12 of KDA's 96 heads."""
    link = {"kv_left": CSA_KEY, "kv_right": KDA_KEY, "kv_context": "1024", "kv_sequences": "1"}
    left, right = charts(opened(PAGE, kv_view="parallel", **link))
    kept = 128 * 512 + (1024 // 4 + 2 * 4) * (512 + 128)
    own = left.values(left.trace("CSA ★"), "y") * 2**30
    assert list(own) == pytest.approx([21 * 2 * kept] * 7)
    states = right.values(right.trace("KDA ★"), "y") * 2**30
    of_head = 4 * 128 * 128 + 2 * 3 * 3 * 128
    heads = [96, 48, 24, 12, 6, 3, 2]  # of the fullest of 1 to 64 GPUs
    assert list(states) == pytest.approx([69 * of_head * n for n in heads])


ENDS = (
    {"kv_context": "1024", "kv_ranks": "1", "kv_type": "int4", "kv_log": "0"},
    {"kv_context": "1048576", "kv_ranks": "128", "kv_type": "fp32", "kv_sequences": "1024"},
)
ODD = {
    "a window of one token": replace(V4, window=1, n_heads=128),
    "an entry for each token": replace(V4, pooling=1, n_heads=128),
    "a block longer than the text": replace(V4_HCA, pooling=2**20, n_heads=128),
    "one head, no convolution": DeltaConfig(d_model=64, n_heads=1, d_head=16, conv_width=1),
    "a state of 128 heads": replace(KDA, n_heads=128),
}


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("link", ENDS, ids=lambda link: link["kv_type"])
@pytest.mark.parametrize("config", ODD.values(), ids=ODD)
def test_nothing_that_can_be_chosen_breaks_a_topic(
    opened: Opened, config: Config, link: dict[str, str], topic: str
) -> None:
    """The least and the most of every setting; linear axes begin at no token."""
    at = opened(PAGE, kv_view=topic, kv_left=key(config), kv_right=key(config), **link)
    assert not at.error
    for chart in charts(at):
        for trace in chart.traces:
            numbers = np.concatenate([chart.values(trace, axis) for axis in "xy"])
            assert np.isfinite(numbers.astype(float)).all()


@pytest.mark.parametrize("topic", TOPICS)
def test_a_window_alone_is_shown_as_what_does_not_grow(opened: Opened, topic: str) -> None:
    at = opened(PAGE, kv_view=topic, kv_left=key(replace(V4_HCA, pooling=0)))
    assert not at.error
    assert at.title[0].value == TITLES[topic][1]


TITLES = {
    "context": ("The cache grows with every token", "What is kept does not grow with the text"),
    "memory": (
        "The cache decides how long a text fits",
        "A cache that does not grow fits any length",
    ),
    "layouts": ("A few kinds of rows stand for all tokens",) * 2,
    "parallel": ("More GPUs do not always share the cache",) * 2,
    "formula": ("Cache formulas in use disagree",) * 2,
}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_title_is_true_of_the_model(opened: Opened, topic: str) -> None:
    pages = (opened(PAGE, kv_view=topic, kv_left=left) for left in (CSA_KEY, KDA_KEY))
    assert tuple(at.title[0].value for at in pages) == TITLES[topic]
