"""The compression page: all that is drawn and said, against the engine's numbers and numpy's."""

import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.torch import save_file
from streamlit.testing.v1 import AppTest
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from mla_engine import (
    PRESETS,
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    RopeConfig,
    claims,
)
from mla_engine.checkpoints import hidden_states as hidden_states_of
from mla_engine.checkpoints import load_attention
from mla_engine.studies import transmla
from mla_engine.studies.compression import joint, loss, separate, with_spectrum
from mla_engine.studies.merging import content_config
from mla_engine.studies.training import query_memory
from mla_engine.studies.words import hidden_states
from tests.ui.chart_checks import check_bars, check_lines
from tests.ui.conftest import CHECKPOINT, REAL_TEXT
from tests.ui.controls import control
from tests.ui.screen import Chart, csv, drawn, numbers, plain, refusal, said, saying, says, speech
from ui.engine import queue
from ui.pages.compression import fitting
from ui.words.numbers import count, error_percent, millions, size

PAGE = "pages/compression.py"
SIZES = {"d_model": 36, "n_heads": 6, "d_head": 8, "d_value": 12}
LATENTS = {"d_latent_kv": 20, "d_latent_q": 28, "d_rope": 4}
CONFIG = GroupedConfig(**SIZES, n_kv_heads=6, rope=RopeConfig())
LATENT = LatentConfig(**SIZES, **LATENTS)
SEED, FULL, RANK, DECAY = 3, 40, 9, 0.5
LINK = {"preset": "small", "seed": str(SEED), "cmp_heads": "2", "cmp_rank": str(RANK)}
LINK |= {name: str(size) for name, size in (SIZES | LATENTS).items()}
RANDOM = {"cmp_weights": "random"}
FALLING = {"cmp_weights": "spectrum", "cmp_decay": str(DECAY)}
WORDS = ("the", "cat", "sat", "on", "the", "mat", "because", "the", "cat", "was", "tired")
ABOVE = ("one_cache", "of_quality", "load", "distance", "loss", "staircase")
DRAWN = (*ABOVE, "errors", "cache", "spectrum", "separate", "as_mla", "queries")
ERRORS = {"k": "keys k", "v": "values v", "scores": "scores", "u": "output u"}
WAYS = {"joint": "joint: one latent", "separate": "separate: two latents"}
V3 = {"preset": "deepseek-v3", "d_model": "7168", "n_heads": "128", "d_latent_q": "1536"}


class Engine:
    """The engine's results for the first two heads' keys and values, apart from the page."""

    def __init__(self, falling: bool = True) -> None:
        self.layer = GroupedQueryAttention(CONFIG, seed=SEED, heads=(0, 1))
        if falling:
            new = with_spectrum(self.layer.W_K, self.layer.W_V, DECAY)
            for weight, with_new in zip((self.layer.W_K, self.layer.W_V), new, strict=True):
                weight.copy_(with_new)
        given = self.layer.W_K, self.layer.W_V
        self.ways = {"joint": joint(*given), "separate": separate(*given)}
        self.h = torch.tensor(hidden_states(WORDS, SEED, CONFIG.d_model))[None]

    def lost(self, way: str, ranks: list[int]) -> dict[str, np.ndarray]:
        made = self.ways[way]
        found = loss(self.layer, self.h, made, [min(rank, made.most) for rank in ranks])
        return {name: np.array([getattr(one, name) for one in found]) for name in ERRORS}


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def line(at: AppTest) -> str:
    """Return the losses of the layer at the chosen size."""
    return saying(at, "keys are off by")


def queries(at: AppTest) -> pd.DataFrame:
    """The table of the queries that training keeps."""
    (table,) = (one.value for one in at.table if "multiply-adds repeated" in one.value.columns)
    return table


def percents(lost: dict[str, np.ndarray], at: int = 0) -> dict[str, str]:
    return {name: error_percent(errors[at]) for name, errors in lost.items()}


def over_rank(chart: Chart, ranks: list[int], lines: dict[str, np.ndarray], title: str) -> None:
    """Lines over the size of the latent, marked at the chosen one."""
    titles = "latent size, numbers per token", title
    check_lines(chart, ranks, lines, titles, rtol=1e-3, atol=1e-4)
    assert [shape["x0"] for shape in chart.layout["shapes"]] == [RANK]


@pytest.mark.parametrize("link", [RANDOM, FALLING], ids=["random", "spectrum"])
def test_what_a_latent_loses_and_saves(seen, link):
    engine = Engine(falling=link is FALLING)
    at, downloads = seen(PAGE, **LINK | link)
    ranks = drawn(at, DRAWN)["errors"].values(0, "x").tolist()
    closer_to_none = {round(FULL * (n / 16) ** 2) for n in range(17)}
    assert ranks == sorted(closer_to_none | {RANK, 35, 36}), "36 columns: there nothing is lost"
    lost = {way: engine.lost(way, ranks) for way in WAYS}
    lines = {label: 100 * lost["joint"][name] for name, label in ERRORS.items()}
    over_rank(drawn(at, DRAWN)["errors"], ranks, lines, "relative RMS error, %")
    cache = {"latent": 2 * np.array(ranks), "MHA, these heads": np.full(len(ranks), 2 * FULL)}
    over_rank(drawn(at, DRAWN)["cache"], ranks, cache, "bytes per token")

    shown = percents(engine.lost("joint", [RANK]))
    assert metrics(at) == {ERRORS[name]: text for name, text in shown.items()}
    assert says(speech(at), "compression.line", rank="9", full="40", k=shown["k"], u=shown["u"])
    assert says(said(at), "compression.saved", rank="9", full="40", held=size(18), whole=size(80))
    assert plain(drawn(at, DRAWN)["errors"].alt) == plain(
        f"Errors over the size of the latent. At 9: keys {shown['k']}, values {shown['v']}, "
        f"scores {shown['scores']}, output {shown['u']}."
    )
    assert says(
        drawn(at, DRAWN)["cache"].alt,
        "compression.alt_cache",
        rank="9",
        held=size(18),
        whole=size(80),
    )
    table = csv(downloads["mla_compression_errors.csv"])
    assert list(table) == ["way", "rank", *ERRORS, "cache_bytes_per_token_bf16"]
    for way in WAYS:
        rows = table[table["way"] == way]
        assert rows["rank"].tolist() == ranks
        assert rows["cache_bytes_per_token_bf16"].tolist() == [2 * rank for rank in ranks]
        for name in ERRORS:
            assert_allclose(rows[name], lost[way][name], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("link", [RANDOM, FALLING], ids=["random", "spectrum"])
def test_the_singular_values(seen, link):
    layer = Engine(falling=link is FALLING).layer
    keys, values = (weight.flatten(0, 1).double().numpy() for weight in (layer.W_K, layer.W_V))
    at, downloads = seen(PAGE, **LINK | link)
    chart = drawn(at, DRAWN)["spectrum"]
    matrices = {
        "W<sup>K</sup> over W<sup>V</sup>": np.concatenate([keys, values]),
        "W<sup>K</sup>": keys,
        "W<sup>V</sup>": values,
    }
    falling = [np.linalg.svd(matrix, compute_uv=False) for matrix in matrices.values()]
    assert chart.names == list(matrices)
    for n, (name, wanted) in enumerate(zip(matrices, falling, strict=True)):
        assert_allclose(chart.values(n, "y"), wanted, rtol=1e-4)
        assert_array_equal(chart.values(n, "x"), np.arange(1, len(wanted) + 1))
        assert chart.traces[n]["hovertemplate"].startswith(f"{name}<br>singular value number %{{x")
    assert [len(wanted) for wanted in falling] == [36, 16, 24]
    assert (chart.axis("x"), chart.axis("y")) == ("singular value number", "singular value")
    assert (chart.words, chart.layout["shapes"][0]["x0"]) == (["9 kept"], 9)
    ends = [float(found) for found in re.findall(r"\d\.\d\de[+-]\d\d", chart.alt)]
    assert ends == pytest.approx([falling[0][0], falling[0][-1]], rel=6e-3)
    assert says(plain(chart.alt), "compression.alt_spectrum")
    table = csv(downloads["mla_compression_spectra.csv"])
    assert list(table) == ["both", "W_K", "W_V"]
    for (_, column), wanted in zip(table.items(), falling, strict=True):
        assert_allclose([float(cell) for cell in column if cell != ""], wanted, rtol=1e-4)
    begins = (
        "The directions are still random" if link is FALLING else "In random weights no direction"
    )
    assert any(text.startswith(begins) for text in said(at))


@pytest.mark.parametrize("error", ["v", "scores"])
def test_joint_and_separate_at_equal_cache(seen, error):
    engine = Engine()
    at, downloads = seen(PAGE, **LINK, **FALLING, cmp_error=error)
    chart = drawn(at, DRAWN)["separate"]
    ranks = chart.values(0, "x").tolist()
    lost = {way: engine.lost(way, ranks)[error] for way in WAYS}
    lines = {WAYS[way]: 100 * lost[way] for way in WAYS}
    over_rank(chart, ranks, lines, "relative RMS error, %")
    own, two = (percents(engine.lost(way, [RANK]))[error] for way in WAYS)
    keys, values = engine.ways["separate"].ranks(RANK)
    assert own != two
    assert keys + values == RANK
    assert keys != values
    assert plain(
        f"At 9 cached numbers, the error of the {ERRORS[error]} is **{own}** with one joint latent "
        f"and **{two}** with two separate ones ({keys} numbers for keys, {values} for values, the "
        "best split)."
    ) in said(at)
    assert plain(chart.alt) == plain(
        "Errors of joint and separate compression over the numbers cached. "
        f"At 9: joint {own}, separate {two}."
    )
    table = csv(downloads["mla_joint_separate.csv"])
    assert (list(table), table["rank"].tolist()) == (["rank", *WAYS], ranks)
    for way in WAYS:
        assert_allclose(table[way], lost[way], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("rank", [9, 5])
def test_as_an_mla_that_can_be_absorbed(seen, rank):
    engine = Engine()
    found = transmla.converted(engine.layer)
    at, downloads = seen(PAGE, **LINK | FALLING | {"cmp_rank": str(rank)})
    chart = drawn(at, DRAWN)["as_mla"]
    ranks = chart.values(0, "x").tolist()
    assert ranks == drawn(at, DRAWN)["errors"].values(0, "x").tolist()
    sizes = [size for size in ranks if size > 8] + [FULL + 8]  # the rotary key has 8 numbers
    lost = transmla.losses(found, engine.h, [min(size - 8, found.most) for size in sizes])
    wanted = [np.nan] * (len(ranks) + 1 - len(sizes)) + [100 * loss.u for loss in lost[:-1]]
    lines = {
        "as MLA: can be absorbed": wanted,
        "rotated after rebuilding: cannot": 100 * engine.lost("joint", ranks)["u"],
    }
    axes = "numbers cached per token and layer", "relative RMS error of u, %"
    check_lines(chart, ranks, lines, axes, rtol=1e-3, atol=1e-4)
    assert [shape["x0"] for shape in chart.layout["shapes"]] == [rank]
    floor = error_percent(lost[-1].u)
    assert plain(floor) in plain(chart.alt)
    (sentence,) = [text for text in said(at) if text.startswith("One shared rotary key")]
    assert says(sentence, "compression.mla_words", share=count(100 * found.share), heads="2")
    assert plain(f"the output is off by **{floor}**.") in sentence
    by_rank = lost[0].u > 2 * lost[-1].u and rank == 9
    most = "cut off by the size of the latent" if by_rank else "mostly the rotation"
    assert most in speech(at)
    here = f"With {rank} numbers, 8 of them for kR, it is off by **{error_percent(lost[0].u)}**."
    none = "With 5 numbers there is no room for a latent beside the 8 of kR."
    assert sentence.endswith(plain(here if rank == 9 else none))
    table = csv(downloads["mla_compression_as_mla.csv"])
    assert table["cached"].tolist()[:-1] == sizes[:-1]
    assert_allclose(table["u"], [loss.u for loss in lost], rtol=1e-3)


@pytest.mark.parametrize(
    ("link", "begins"),
    [({"cmp_heads": "1"}, "There is one key for all heads"), ({}, "One shared rotary key")],
)
def test_one_key_loses_nothing_of_its_rotation(seen, link, begins):
    at = seen(PAGE, **LINK | FALLING | {"cmp_rank": "20"} | link).at
    last = drawn(at, DRAWN)["as_mla"].values(0, "y")[-1]
    assert (last < 1e-3) == bool(link)
    assert any(text.startswith(begins) for text in said(at))


@pytest.mark.parametrize(
    ("link", "width", "begins"),
    [
        ({}, 28, "The query latent cQ of this configuration has 28 numbers. Without it,"),
        (
            {"d_latent_q": "0"},
            96,
            "This configuration has no query latent cQ: 96 numbers are assumed",
        ),
    ],
    ids=["latent", "none"],
)
def test_what_training_keeps_of_the_queries(seen, link, width, begins):
    at, downloads = seen(PAGE, **LINK | link)
    found = query_memory(LATENT, width)
    names = ["no latent", "no latent, q anew", "latent", "latent, q anew"]
    kept = [way.kept_elements for way in found]
    assert kept == [72, 0, 72 + width, width]
    chart = drawn(at, DRAWN)["queries"]
    axis = "numbers kept<br>per token and layer"
    check_bars(chart, {"kept per token": kept}, names, axis, map(count, kept))
    each = "; ".join(f"{name}: {count(n)}" for name, n in zip(names, kept, strict=True))
    assert says(chart.alt, "compression.alt_queries", each=each)
    (sentence,) = [text for text in said(at) if text.startswith(begins)]
    assert {"72", str(width)} <= set(numbers(sentence))
    shown = queries(at)
    assert list(shown.index) == names
    assert list(shown.columns) == [
        "numbers kept per token",
        "multiply-adds repeated",
        "weights of the query path",
    ]
    assert shown.to_numpy().tolist() == [
        [count(w.kept_elements), millions(w.recomputed_multiply_adds), millions(w.weights)]
        for w in found
    ]
    assert csv(downloads["mla_query_memory.csv"]).to_dict("list") == {
        name: [getattr(way, name) for way in found] for name in vars(found[0])
    }


def test_a_logarithmic_axis_is_that_of_the_errors_alone(opened):
    at = opened(PAGE, **LINK | {"cmp_log": "1", "cmp_rank": "40"})
    for name, axis in (
        ("errors", "log"),
        ("separate", "log"),
        ("as_mla", "log"),
        ("cache", "linear"),
    ):
        assert drawn(at, DRAWN)[name].layout["yaxis"]["type"] == axis
    assert metrics(at) == dict.fromkeys(ERRORS.values(), "0.0\xa0%")
    assert drawn(at, DRAWN)["spectrum"].layout.get("shapes", []) == [], "40 are more than there are"


def test_rank_zero_loses_all(opened):
    at = opened(PAGE, **LINK | {"cmp_rank": "0"})
    assert metrics(at) == dict.fromkeys(ERRORS.values(), "100.0\xa0%")
    assert says(speech(at), "compression.line", rank="0", full="40")
    assert drawn(at, DRAWN)["errors"].layout["shapes"][0]["x0"] == 0


def test_weights_that_fall_faster_lose_less_and_a_latent_is_as_large_as_its_heads_allow(opened):
    at = opened(PAGE, **LINK, **RANDOM)
    assert control(at, "cmp_decay").disabled
    control(at, "cmp_weights").set_value("spectrum").run()
    before = metrics(at)
    control(at, "cmp_decay").set_value(2.0).run()
    assert float(before["keys k"].split()[0]) > float(metrics(at)["keys k"].split()[0])
    control(at, "cmp_heads").set_value(1).run()
    assert says(speech(at), "compression.line", rank="9", full="20")
    control(at, "cmp_rank").set_value(20).run()
    assert says(speech(at), "compression.line", rank="20", full="20")


def test_a_real_layers_own_latent_and_random_weights_on_its_inputs(real, demo):
    at = real("compression", cmp_rank="20", cmp_heads="2")
    assert {63, 64} <= set(drawn(at, DRAWN)["errors"].values(0, "x").tolist()), (
        "where nothing is lost"
    )
    values = drawn(at, DRAWN)["spectrum"].values(0, "y")
    assert values[64] < 1e-6 * values[0] < values[63]
    ends = drawn(at, DRAWN)["spectrum"].layout["yaxis"]["range"]
    assert 7 < ends[1] - ends[0] < 9, "down to the rounding beyond the latent"
    assert says(speech(at), "compression.words_latent", latent="64")
    assert control(at, "cmp_weights").options == ["the model's own", "chosen spectrum", "random"]
    control(at, "cmp_weights").set_value("random").run()
    config = content_config(load_attention(demo, CHECKPOINT, heads=(0,)).config)
    layer = GroupedQueryAttention(config, seed=0, heads=(0, 1))
    h = hidden_states_of(demo, REAL_TEXT, CHECKPOINT).h
    (lost,) = loss(layer, h, joint(layer.W_K, layer.W_V), [20])
    assert metrics(at) == {label: error_percent(vars(lost)[name]) for name, label in ERRORS.items()}
    assert says(speech(at), "compression.words_random")


def test_a_grouped_model_compresses_its_kv_heads(real, llama):
    at = real("compression", source=llama, cmp_rank="20")
    assert says(speech(at), "compression.words_grouped", heads="8", groups="2")
    assert says(speech(at), "compression.line", rank="20", full="64")
    assert says(control(at, "cmp_heads").label, "compression.heads", heads="2")


def test_a_real_layer_is_fitted_to_what_transformers_lets_in(real, llama):
    """The conversion of what a hook on the model's own attention saw, with noise of 1 %."""
    model, rules = AutoModelForCausalLM.from_pretrained(llama), f"{llama}/tokenizer.json"
    seen = []
    attention = model.model.layers[CHECKPOINT].self_attn
    attention.register_forward_pre_hook(
        lambda _module, _given, named: seen.append(named["hidden_states"]), with_kwargs=True
    )
    for text in (fitting.TEXT, REAL_TEXT):
        with torch.no_grad():
            model(torch.tensor([Tokenizer.from_file(rules).encode(text).ids]))
    passage, h = seen
    layer = load_attention(llama, CHECKPOINT)
    noise = (0.01 * passage.square().sum() / 64).sqrt() * torch.eye(64)
    rows = torch.cat((passage, noise[None]), dim=1)
    (wanted,) = transmla.losses(transmla.converted(layer, rows), h, [40 - 16])
    (alone,) = transmla.losses(transmla.converted(layer), h, [40 - 16])
    (rotated,) = loss(layer, h, joint(layer.W_K, layer.W_V, rows), [40])
    at = real("compression", source=llama, cmp_rank="40")
    chart, text = drawn(at, DRAWN)["as_mla"], speech(at)
    place = chart.values(0, "x").tolist().index(40)
    assert_allclose(chart.values(0, "y")[place], 100 * wanted.u, rtol=1e-3)
    assert_allclose(chart.values(1, "y")[place], 100 * rotated.u, rtol=1e-3)
    assert says(text, "compression.mla_at", u=plain(error_percent(wanted.u)))
    assert says(text, "compression.mla_alone", u=plain(error_percent(alone.u)))
    assert says(text, "compression.mla_by_passage", tokens=count(passage.shape[1]))


def test_without_inputs_a_real_layer_is_converted_by_its_weights_and_says_so(real, llama):
    file = Path(llama).parent / "inputs.safetensors"
    h = torch.randn(1, 9, 64, generator=torch.Generator().manual_seed(1))
    save_file({"h": h}, file, {"tokens": str(list("abcdefghi")).replace("'", '"')})
    at = real("compression", source=llama, cmp_rank="40", activations=str(file))
    found = transmla.converted(load_attention(llama, CHECKPOINT))
    (wanted,) = transmla.losses(found, h, [40 - 16])
    assert says(speech(at), "compression.mla_at", u=plain(error_percent(wanted.u)))
    assert "both chosen by the weights alone" in speech(at)


def test_a_grouped_preset_and_values_out_of_range(opened):
    given = {"preset": "llama-3-8b", "cmp_rank": "999", "cmp_heads": "64", "cmp_decay": "9"}
    at = opened(PAGE, **LINK | given)
    assert says(speech(at), "compression.line", rank="120", full="120")
    assert metrics(at) == dict.fromkeys(ERRORS.values(), "0.0\xa0%")
    assert (control(at, "cmp_heads").value, control(at, "cmp_decay").value) == (6, 3.0)


def test_a_refusal_leaves_the_rest_alive(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00001")
    at = opened(PAGE, **V3, seed="77", code="snippet")
    assert "keys are off by" not in speech(at)
    assert len(at.error) == 1
    assert control(at, "cmp_heads").options == ["1", "2", "4"]  # 8 × 256 rows are many
    verdict = claims.check("C5", config=PRESETS["deepseek-v3"].config)
    kept = list(queries(at).iloc[:, 0])
    wanted = [f"{verdict.value(name):,}" for name in ("before", "kept", "recomputed")]
    assert [kept[0], kept[2], kept[3]] == wanted
    assert len(at.code) == 2, "no snippet of the layer"


class Filling:
    """A queue that is full after some turns."""

    def __init__(self, turns: int) -> None:
        self.left = turns

    @contextmanager
    def turn(self, *, whole: bool = False):
        self.left -= 1
        with queue.Queue(64 if self.left >= 0 else -1, 1).turn(whole=whole):
            yield


def test_a_line_that_fills_while_a_page_is_drawn_is_said_below_its_first_pictures(
    opened, monkeypatch
):
    filling = Filling(4)
    monkeypatch.setattr(queue, "_queue", lambda: filling)
    at = opened(PAGE, **LINK | {"seed": "84"})
    assert "**9** numbers instead" in line(at)
    assert says(refusal(at), "refused.waiting", most="-1")
    assert not at.get("progress")
    assert queries(at).iloc[0, 0] == "72"


def test_a_page_without_a_word_on_weights_compresses_what_can_be(opened, real, demo):
    """A falling spectrum where the weights are drawn, a real layer's own; old links say "own"."""
    assert control(opened(PAGE, **LINK), "cmp_weights").value == "spectrum"
    assert control(opened(PAGE, **LINK, cmp_weights="own"), "cmp_weights").value == "random"
    assert control(real("compression"), "cmp_weights").value == "own"
