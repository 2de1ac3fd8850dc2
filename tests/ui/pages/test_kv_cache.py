"""The cache page: what it shows of two models in each of its topics, and its controls."""

import html
import io
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, costs
from mla_engine.costs import GPUS
from mla_engine.given_preset import given_preset
from mla_engine.presets import NOT_MODELLED
from tests.ui.pages.kv_cache import context, formula, layouts, memory, parallel
from tests.ui.pages.kv_cache.side import DTYPES, GAPS, Side, sides
from tests.ui.screen import charts, csv, lead, says, statement
from ui.pages.kv_cache.scene import Scene
from ui.pages.kv_cache.view import contrast
from ui.settings.sizes import longest

PAGE = "pages/kv_cache.py"
TOPICS = {
    "context": context, "memory": memory, "layouts": layouts, "parallel": parallel,
    "formula": formula,
}  # fmt: skip
Opened = Callable[..., AppTest]
Downloads = dict[str, object]

# Two models that differ in kind, heads, widths and caches; nothing at its default.
MIXED = {
    "kv_left": "minicpm3-4b", "kv_right": "mistral-7b-v0.1", "kv_groups": "4", "kv_layers": "40",
    "kv_batch": "8", "kv_type": "fp32", "kv_context": "4096", "kv_unit": "GB", "kv_gpu": "a100-40",
    "kv_ranks": "4", "kv_weights": "bf16", "kv_sequences": "32", "kv_ways": "all",
}  # fmt: skip
# Others on linear axes: an MLA wider in values than in keys, and one KV head for all.
LINEAR = {
    "kv_left": "falcon-7b", "kv_right": "glm-4.7-flash", "kv_log": "0", "kv_type": "q4_0",
    "kv_context": "2048", "kv_groups": "5", "kv_gpu": "t4", "kv_ranks": "2", "kv_weights": "int4",
    "kv_attention": "data", "kv_sequences": "16",
}  # fmt: skip


# A model that keeps an index key beside its latent, and one more that chooses.
KINDS = {"kv_left": "deepseek-v4-flash", "kv_right": "kimi-k3", "kv_ways": "all"}
SPARSE = {"kv_left": "deepseek-v3.2-exp", "kv_right": "glm-5", "kv_ways": "two"}
BLOCKS = {"kv_left": "glm-5.3-flash", "kv_right": "glm-5", "kv_context": "65536"}
LINKS = {"mixed": MIXED, "linear": LINEAR, "sparse": SPARSE, "kinds": KINDS, "blocks": BLOCKS}


def shows(at: AppTest, topic: str, link: dict[str, str], downloads: Downloads) -> None:
    """Everything that a topic has to say and draw of both models of a link."""
    told, both = TOPICS[topic], sides(link, topic)
    assert [m.value for m in at.main.markdown] == [
        lead(at)[0],
        told.title(both[0]),
        told.look(*both) if told is context else told.look(both[0]),
        *[sentence for one in both for sentence in (*told.said(one), *one.limitations())],
        *[f"**{one.name}** {one.preset.notes}".strip() for one in both],
    ]
    assert [c.value for c in at.main.caption] == [
        *captions(topic, both),
        *[one.preset.source for one in both],
    ]
    drawn = charts(at)
    assert [chart.file for chart in drawn] == [
        f"kv_cache_{one.key}" for one in both for _ in range(each(topic, one))
    ]
    tables = [table for one in both for table in tables_of(told, one)]
    for found, table in zip(at.table, tables, strict=True):
        pd.testing.assert_frame_equal(found.value, table)
    for one, other in (both, both[::-1]):
        mine, drawn = drawn[: each(topic, one)], drawn[each(topic, one) :]
        assert mine[-1].alt == told.drawn(mine, one, other)
    assert not drawn
    rows = pd.DataFrame([row for one in both for row in told.data(one)])
    written = csv(lambda: rows.to_csv(index=False))
    pd.testing.assert_frame_equal(csv(downloads[told.FILE]), written, check_dtype=False, rtol=1e-12)


def each(topic: str, one: Side) -> int:
    """Return how many charts a model has."""
    return (2 if one.is_uneven else 3) if topic == "layouts" else 1


def tables_of(told: object, one: Side) -> list[pd.DataFrame]:
    """The tables below a model's charts."""
    return told.tables(one) if hasattr(told, "tables") else [told.table(one)]


def captions(topic: str, both: tuple[Side, Side]) -> Iterator[str]:
    """The quiet lines beside charts and controls."""
    one = both[0]
    if topic == "layouts":
        own, two = "The model's own, magnified:", "The two with a latent, magnified:"
        yield from (own if side.is_uneven else two for side in both)
    yield "1 GiB = 1,024³ bytes, 1 GB = 1,000³ bytes."
    if topic == "context" and one.type in DTYPES:
        yield (
            "Dots are measured: real caches of the engine, one layer and one sequence of 64, 256 "
            "and 1,024 tokens, times layers and batch."
        )
    elif topic == "context":
        yield (
            "There are no dots because the engine keeps no cache of this type. The lines count "
            "what serving engines store: with the scales of such formats, and some parts in a "
            "wider type."
        )


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_topic_shows_what_the_engine_counts_of_both_models(
    opened: Opened, downloads: Downloads, topic: str, link: dict[str, str]
) -> None:
    at = opened(PAGE, kv_view=topic, **link)
    assert not at.warning
    shows(at, topic, link, downloads)


def widgets(at: AppTest) -> dict[str, object]:
    """Setting -> its widget on the page itself."""
    found = (at.main.select_slider, at.main.selectbox, at.main.toggle, at.main.button_group)
    every = {w.key.split(":")[0]: w for kind in found for w in kind}
    return {name: one for name, one in every.items() if name != "ask"}  # which every page has


LABELS = {
    "kv_view": "View", "code": "Code behind this page",
    "kv_left": "Left model", "kv_right": "Right model", "kv_context": "Context length, tokens",
    "kv_groups": "KV heads of GQA, g", "kv_layers": "Layers",
    "kv_batch": "Sequences at once (batch)", "kv_sequences": "Sequences at once (batch)",
    "kv_type": "Type of the numbers", "kv_unit": "Unit", "kv_log": "Logarithmic axes",
    "kv_gpu": "GPU", "kv_ranks": "GPUs that share the model", "kv_weights": "Type of the weights",
    "kv_attention": "Attention is split by", "kv_ways": "Lines",
}  # fmt: skip
MODELS = {"kv_left": "gpt-2", "kv_right": "kimi-k2"}
CHOICES = {
    "context": MODELS | {
        "kv_context": 1024, "kv_ways": "all", "kv_groups": 16, "kv_layers": 11, "kv_batch": 4,
        "kv_type": "fp8", "kv_unit": "GB", "kv_log": False,
    },
    "memory": MODELS | {
        "kv_gpu": "b200", "kv_ranks": 4, "kv_attention": "data", "kv_weights": "fp32",
        "kv_context": 2048, "kv_batch": 16, "kv_ways": "two", "kv_groups": 2,
        "kv_type": "fp32", "kv_unit": "GB", "kv_log": False,
    },
    "layouts": MODELS | {
        "kv_context": 8192, "kv_layers": 9, "kv_batch": 2, "kv_type": "int4", "kv_unit": "GB",
    },
    "parallel": MODELS | {
        "kv_ranks": 4, "kv_sequences": 2, "kv_context": 16384, "kv_ways": "all", "kv_groups": 4,
        "kv_type": "fp8", "kv_unit": "GB", "kv_log": False,
    },
    "formula": MODELS | {
        "kv_context": 4096, "kv_layers": 7, "kv_batch": 32, "kv_type": "fp32", "kv_unit": "GB",
        "kv_log": False,
    },
}  # fmt: skip
POWERS = [f"{2**n:,}" for n in range(11)]
TYPES = ["fp32", "bf16", "fp8", "4 bit", "q8_0", "q4_0"]
NAMES = [preset.name for preset in PRESETS.values()]
OPTIONS = {
    "kv_left": NAMES, "kv_right": NAMES, "kv_context": [f"{2**n:,}" for n in range(10, 18)],
    "kv_batch": POWERS, "kv_sequences": POWERS, "kv_ranks": POWERS[:8], "kv_type": TYPES,
    "kv_weights": TYPES, "kv_unit": ["GiB", "GB"], "kv_gpu": [gpu.name for gpu in GPUS.values()],
    "kv_attention": ["heads", "sequences"],
    "kv_layers": ["all", *map(str, range(1, 127))],
    "kv_groups": [str(n) for n in range(1, 129) if 128 % n == 0],
    "kv_ways": ["MHA, MLA", "and GQA, MQA", "and their successors"],
    "kv_view": [
        "By context", "GPU memory", "Layouts", "Tensor parallel", "Is my formula right?",
    ],
}  # fmt: skip


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topics_controls_change_what_they_say(
    opened: Opened, downloads: Downloads, topic: str
) -> None:
    at = opened(PAGE)
    widgets(at)["kv_view"].set_value(topic).run()
    found = widgets(at)
    assert {name: w.label for name, w in found.items()} == {
        name: LABELS[name] for name in ("kv_view", "code", *CHOICES[topic])
    }
    assert {n: list(w.options) for n, w in found.items() if n in OPTIONS} == {
        n: OPTIONS[n] for n in found if n in OPTIONS
    }
    assert not [box.label for box in at.number_input]  # of what a slider says already
    for name, value in CHOICES[topic].items():
        found[name].set_value(value)
    at.run()
    link = {name: str(int(v) if isinstance(v, bool) else v) for name, v in CHOICES[topic].items()}
    given = {} if topic == "context" else {"kv_view": topic}
    assert at.query_params == link | given
    shows(at, topic, link, downloads)


# A link from before windows were counted: every layer is taken for a global one.
OLD = given_preset(
    PRESETS["gemma-3-27b"].config,
    name="old",
    n_layers=62,
    n_caches=62,
    max_context=8192,
    not_modelled=("alternating local and global layers",),
).key
PAIRS = [
    {"kv_left": OLD, "kv_right": "kimi-k2", "kv_context": "4096"},
    {"kv_left": OLD, "kv_right": "gpt-oss-120b"},
    {"kv_left": "gemma-3-27b", "kv_right": "mistral-7b-v0.1"},
    {"kv_left": "gemma-2-9b", "kv_right": "kimi-linear-48b-a3b", "kv_layers": "42"},
    {"kv_left": "gpt-oss-20b", "kv_right": "longcat-flash-chat", "kv_context": "65536"},
    {"kv_left": "falcon-7b", "kv_right": "glm-5", "kv_groups": "32"},
    {"kv_left": "mistral-small-4-119b", "kv_right": "gpt-2", "kv_groups": "12"},
    {"kv_left": "qwen2.5-7b", "kv_right": "kimi-k3", "kv_layers": "25"},
    {"kv_left": "deepseek-v4-flash", "kv_right": "kimi-linear-48b-a3b", "kv_batch": "4"},
    {"kv_left": "kimi-k3", "kv_right": "deepseek-v4-pro", "kv_type": "fp8"},
]


@pytest.mark.parametrize("link", PAIRS, ids=lambda link: link["kv_left"])
def test_what_a_model_has_beside_its_numbers_is_said(
    opened: Opened, downloads: Downloads, link: dict[str, str]
) -> None:
    shows(opened(PAGE, **link), "context", link, downloads)


def test_every_gap_and_every_verb_is_among_them() -> None:
    both = [one for link in PAIRS for one in sides(link)]
    assert (
        {gap for one in both for gap in one.preset.not_modelled} == set(GAPS) == set(NOT_MODELLED)
    )
    told = [context.title(sides(link)[0]) for link in PAIRS]
    verbs = [re.search(r" (would keep|keeps)( at most)?", line)[0] for line in told]
    assert set(verbs) == {" keeps", " would keep", " keeps at most", " would keep at most"}


def test_the_page_opens_on_deepseek_v3_and_says_what_it_keeps(opened: Opened) -> None:
    """Arithmetic by hand: 61 layers, bf16, a latent of 512 and a rotary key of 64."""
    at = opened(PAGE)
    kept, mha = 576 * 61 * 2 * 131_072, 2 * 128 * 128 * 61 * 2 * 131_072
    assert says(
        statement(at).replace("\xa0", " "),
        "kv_cache.line",
        model="DeepSeek-V3 / R1 (671B)",
        own=f"{kept / 2**30:.2f} GiB",
        tokens="131,072",
        mha=f"{mha / 2**30:.0f} GiB",
        ratio=f"{mha / kept:.1f}×",
    )
    assert at.query_params == {}


def test_gpu_memory_by_hand(opened: Opened) -> None:
    """Weights of 671 GB in fp8 over eight GPUs; each keeps the whole latent."""
    at = opened(PAGE, kv_view="memory")
    free, token = 143_771 * 2**20 - 671_026_404_352 / 8, 576 * 61 * 2
    fits = f"{free // token // 131_072:.0f}"
    assert says(statement(at), "kv_cache.line_memory", fits=fits, tokens="131,072")
    assert free // token > 163_840  # a single sequence could be longer than V3's may
    assert list(at.table[0].value.loc["H200 SXM ◀"])[1:] == ["163,840", fits]
    assert list(at.table[0].value.loc["A100 40 GB"]) == ["too small", "0", "0"]


@pytest.mark.parametrize("topic", ["memory", "parallel"])
def test_a_refused_model_leaves_the_other_alive(
    opened: Opened, downloads: Downloads, topic: str
) -> None:
    link = {"kv_ranks": "16", "kv_left": "gemma-2b", "kv_right": "llama-3-8b", "kv_unit": "GB"}
    link["kv_context"] = "8192"  # what both were published for
    at = opened(PAGE, kv_view=topic, code="snippet", **link)
    told, (left, right) = TOPICS[topic], sides(link, topic)
    assert statement(at) == ""
    (error,) = at.error
    assert says(html.unescape(error.value), "refused.ranks", n_heads="8", ranks="16")
    (table,), drawn = at.table, charts(at)
    pd.testing.assert_frame_equal(table.value, told.table(right))
    assert drawn[-1].alt == told.drawn(drawn, right, right if topic == "memory" else left)
    assert set(csv(downloads[told.FILE])["model"]) == (
        {right.name} if topic == "memory" else {left.name, right.name}
    )
    (info,) = at.info
    assert says(info.value, "code.nothing")


SHOWN = {
    "context": ["kept", "Placing.held_bytes", "Cache.with_zeros"],
    "memory": [
        "Serving.free_bytes", "Serving.rank_weight_bytes",
        "Serving.held_bytes", "Serving.longest_context", "Serving.largest_batch",
    ],
    "layouts": ["layouts", "kept"],
    "parallel": ["kept_parts", "Serving.rank_sequences", "Serving.held_bytes"],
    "formula": ["formulas", "Placing.held_bytes"],
}  # fmt: skip


@pytest.mark.parametrize("topic", TOPICS)
def test_the_code_behind_a_topic_makes_its_title(opened: Opened, topic: str) -> None:
    """A snippet prints in its last line what the title says; the source names what ran."""
    at = opened(PAGE, kv_view=topic, code="snippet", **MIXED)
    with redirect_stdout(io.StringIO()) as printed:
        exec(at.code[0].value, {})
    last = [float(n) for n in re.findall(r"[\d.e+-]+", printed.getvalue().splitlines()[-1])]
    left = sides(MIXED)[0]
    assert set(expected(topic, left)) <= set(last)
    at = opened(PAGE, kv_view=topic, code="source", **MIXED)
    named = [re.match(r"`(\S+)` · (?:mla_engine|kvcount)/", m.value) for m in at.main.markdown]
    assert [name[1] for name in named if name] == SHOWN[topic]


def expected(topic: str, one: Side) -> list[float]:
    """The numbers of a topic's title."""
    if topic == "context":
        held = [one.held(config, one.context) for config in (one.config, one.mha)]
        return [*held, held[1] / held[0]]
    if topic == "memory":
        on = one.served()
        return [on.rank_weight_bytes, on.free_bytes, on.largest_batch(one.context)]
    if topic == "layouts":
        return [sum(parts.values()) for n, parts in costs.layouts(one.mla).items() if n != "mha"]
    if topic == "parallel":
        return list(map(one.by_heads(one.config), (1, one.ranks)))
    return [costs.cache_elements(one.config), min(formula.off(one)), max(formula.off(one))]


def test_the_code_of_numbers_without_caches_shows_none(opened: Opened) -> None:
    at = opened(PAGE, kv_type="fp8", code="source")
    assert len(at.code) == 2


@pytest.mark.parametrize("key", PRESETS)
def test_ways_of_every_model(key: str) -> None:
    for groups in (1, 5, 128):
        scene, one = (
            Scene(key, groups, 0, 4, "fp32"),
            Side(key, groups=groups, batch=4, type="fp32"),
        )
        assert [scene.label(way) for way in scene.ways] == list(one.ways)
        assert list(map(costs.cache_elements, scene.ways.values())) == list(
            map(costs.cache_elements, one.ways.values())
        )
        assert scene.ways[scene.own] == PRESETS[key].config


def test_the_page_follows_the_model_that_is_chosen(opened: Opened) -> None:
    at = opened(PAGE, preset="gemma-2b")
    found = {name: widget.value for name, widget in widgets(at).items()}
    assert (found["kv_left"], found["kv_context"]) == ("gemma-2b", 8192)
    assert PRESETS[found["kv_right"]].kind == "MLA"
    assert at.query_params == {"preset": "gemma-2b"}

    at = opened(PAGE, preset="gemma-2b", kv_left="llama-3-8b")
    assert widgets(at)["kv_left"].value == "llama-3-8b"

    at = opened()
    (picker,) = [one for one in at.selectbox if one.key == "preset"]
    for chosen in ("kimi-k2", "deepseek-v2-lite"):  # back to the app's own is a choice, too
        picker.set_value(chosen).run()
        (picker,) = [one for one in at.selectbox if one.key == "preset"]
        assert at.session_state["settings"]["kv_left"] == chosen


@pytest.mark.parametrize("key", PRESETS)
def test_beside_each_model_stands_one_of_the_other_kind(key: str) -> None:
    assert (PRESETS[contrast(key)].kind == "MLA") != (PRESETS[key].kind == "MLA")
    most = PRESETS[key].max_context or 2**20
    assert most / 2 < longest(key) <= most or longest(key) == 2**20
