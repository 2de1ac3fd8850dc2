"""The compression page of a trained model: which answers break, against the engine and numpy."""

from statistics import fmean

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mla_engine import GroupedQueryAttention
from mla_engine.heads import with_heads
from mla_engine.language_model import LanguageModel, load_model
from mla_engine.language_model.accuracy import accuracies, batch
from mla_engine.language_model.cuts import measured, without_minor_directions
from mla_engine.language_model.retrofit import IntoMLA, Retrofit
from mla_engine.language_model.texts import TASKS
from mla_engine.studies.compression import joint, loss
from mla_engine.studies.words import hidden_states
from tests.ui import trained_models
from tests.ui.conftest import SHIPPED
from tests.ui.controls import control
from tests.ui.pages.test_compression import ABOVE, ERRORS, WORDS, metrics
from tests.ui.screen import (
    csv,
    drawn,
    plain,
    prose,
    refusal,
    saying,
    says,
    speech,
)
from ui.pages.compression import answers
from ui.words.numbers import error_percent

PAGE = "pages/compression.py"
ROTARY, CACHED, FULL, MOST = 4, 13, 48, 24  # of the small models
SIZES = [2, 4, 6, 8, 10, 12, 13, 16, 20, 24]
LINES = {
    "weights": "MHA, cut by weights",
    "texts": "MHA, cut by real texts",
    "mla": "MLA, its latent cut",
}
DRAWN = (*ABOVE, "answers", "tasks", "errors", "spectrum", "separate", "as_mla", "queries")


@pytest.fixture(scope="module")
def models(small_models) -> dict[str, LanguageModel]:
    return {code: load_model(small_models / f"{code}.safetensors")[0] for code in ("mha", "mla")}


def truncated(model: LanguageModel, rank: int) -> LanguageModel:
    """The model whose keys and values have numpy's best weights of a rank, in every layer."""
    cut = copied(model)
    for block in cut.blocks:
        layer = block.attention
        stacked = np.concatenate([layer.W_K.flatten(0, 1), layer.W_V.flatten(0, 1)])
        left, values, right = np.linalg.svd(stacked, full_matrices=False)
        best = torch.tensor(left[:, :rank] * values[:rank] @ right[:rank])
        keys, values = best.split(layer.W_K.shape[0] * layer.W_K.shape[1])
        layer.W_K.copy_(keys.reshape(layer.W_K.shape))
        layer.W_V.copy_(values.reshape(layer.W_V.shape))
    return cut


def copied(model: LanguageModel) -> LanguageModel:
    copy = LanguageModel(model.config)
    copy.load_state_dict(model.state_dict())
    return copy.requires_grad_(False)


def shares(model: LanguageModel) -> dict[str, float]:
    """Task -> the share of right answers, by many runs of the model."""
    found = accuracies(model, answers.ASKED, answers.SEED)
    return {task: fmean(loads.values()) for task, loads in found.items()}


def cut(models: dict[str, LanguageModel], way: str, size: int) -> LanguageModel:
    texts = measured(answers.MEASURED, answers.SEED)
    if way == "weights":
        return truncated(models["mha"], size)
    if way == "texts":
        return Retrofit.by_texts(models["mha"], texts).cut(size)
    return without_minor_directions(models["mla"], size - ROTARY, texts)


def told(at) -> str:
    """Return the sentence about the answers that the cut model still gives."""
    return saying(at, "when the trained MHA caches")


def percent(model: LanguageModel) -> str:
    return f"{100 * fmean(shares(model).values()):.0f} %"


def test_right_answers_stand_over_the_size_of_the_cache(seen, models):
    at, downloads = seen(PAGE)
    chart = drawn(at, DRAWN)["answers"]
    assert chart.names == [*LINES.values(), "MLA, trained with 13"]
    table = csv(downloads["mla_compression_answers.csv"])
    assert list(table) == ["way", "size", *TASKS, "mean"]
    for way, name in LINES.items():
        rows = table[table["way"] == way].set_index("size")
        there = [n for n in SIZES if way != "mla" or ROTARY < n <= CACHED]
        assert rows.index.tolist() == there
        assert_array_equal(chart.values(name, "x"), SIZES)
        heights = dict(zip(SIZES, chart.values(name, "y"), strict=True))
        assert [n for n in SIZES if np.isfinite(heights[n])] == there
        for size in (there[0], there[len(there) // 2], there[-1]):
            wanted = shares(cut(models, way, size))
            assert rows.loc[size, list(TASKS)].to_dict() == pytest.approx(wanted)
            assert heights[size] == pytest.approx(100 * fmean(wanted.values()))
    mark = chart.trace("MLA, trained with 13")
    trained = 100 * fmean(shares(models["mla"]).values())
    assert (chart.values(mark, "x"), chart.values(mark, "y")) == ([13], [pytest.approx(trained)])
    assert [shape["x0"] for shape in chart.layout["shapes"]] == [CACHED]
    titles = "numbers cached per token and layer", "right answers, %"
    assert (chart.axis("x"), chart.axis("y")) == titles


def test_the_number_of_the_cut_model_is_told(opened, models):
    at = opened(PAGE, cmp_size="6")
    whole, trained = percent(models["mha"]), percent(models["mla"])
    number = percent(truncated(models["mha"], 6))
    values = {"right": number, "rank": "6", "full": "48", "whole": whole, "cached": "13"}
    assert says(speech(at), "compression.answered", **values, trained=trained)
    assert says(
        plain(drawn(at, DRAWN)["answers"].alt),
        "compression.alt_answers",
        rank="6",
        weights=number,
        texts=percent(cut(models, "texts", 6)),
        cached="13",
        trained=trained,
    )
    assert says(speech(at), "compression.asked", texts="80")


@pytest.mark.parametrize(("size", "mla"), [(8, 8), (4, CACHED), (20, CACHED)])
def test_the_bars_tell_which_answers_break(seen, models, size, mla):
    """Beside the MLA cut to the same cache, or as it was trained where it has no such size."""
    at, downloads = seen(PAGE, cmp_size=str(size))
    chart = drawn(at, DRAWN)["tasks"]
    bars = {
        "MHA 48": models["mha"],
        f"MHA cut to {size}": truncated(models["mha"], size),
        f"MLA {mla}": cut(models, "mla", mla),
    }
    assert chart.names == list(bars)
    table = csv(downloads["mla_compression_tasks.csv"]).set_index("task")
    for name, model in bars.items():
        wanted = shares(model)
        assert chart.values(name, "x") == pytest.approx([100 * one for one in wanted.values()])
        assert table[name].to_dict() == pytest.approx(wanted)
    rows = chart.layout["yaxis"]["ticktext"]
    assert rows == ["recall", "copy", "count back", "agreement", "brackets"]
    assert chart.axis("x") == "right answers, %"
    assert says(plain(chart.alt), "compression.alt_tasks")


def test_the_slider_walks_over_the_sizes_that_are_drawn(opened):
    at = opened(PAGE)
    slider = control(at, "cmp_size")
    assert says(slider.label, "compression.size_of", full="48")
    assert slider.options == [str(size) for size in SIZES]
    assert slider.value == CACHED
    slider.set_value(8).run()
    assert at.query_params["cmp_size"] == "8"
    assert "caches 8 of 48" in told(at)
    for name in ("answers", "errors", "spectrum", "separate"):
        assert drawn(at, DRAWN)[name].layout["shapes"][0]["x0"] == 8
    assert "cmp_heads" not in [widget.key for widget in at.select_slider]


@pytest.mark.parametrize(("given", "used"), [("15", "16"), ("999", "24")])
def test_a_link_to_another_size_says_what_is_shown(opened, given, used):
    at = opened(PAGE, cmp_size=given)
    assert f"caches {used} of 48" in told(at)
    assert f"{used} is used instead" in at.warning[0].value


@pytest.mark.parametrize("number", [0, 1])
def test_inside_a_layer_errors_are_those_of_fresh_texts(seen, models, number):
    at, downloads = seen(PAGE, trained_layer=str(number), cmp_size="8")
    model = models["mha"]
    layer = with_heads(model.blocks[number].attention, None)
    tokens = batch(measured(answers.MEASURED, answers.SEED), model.config.words).tokens
    h = model(tokens).blocks[number].attention.h
    found = loss(layer, h, joint(layer.W_K, layer.W_V), [0, *SIZES])
    chart = drawn(at, DRAWN)["errors"]
    for name, label in ERRORS.items():
        assert_array_equal(chart.values(label, "x"), [0, *SIZES])
        wanted = [100 * getattr(one, name) for one in found]
        assert_allclose(chart.values(label, "y"), wanted, rtol=1e-3, atol=2e-4)
    shown = {label: error_percent(getattr(found[4], name)) for name, label in ERRORS.items()}
    assert metrics(at) == shown
    stacked = np.concatenate([layer.W_K.flatten(0, 1), layer.W_V.flatten(0, 1)])
    falling = np.linalg.svd(stacked.astype(float), compute_uv=False)
    assert_allclose(drawn(at, DRAWN)["spectrum"].values(0, "y"), falling, rtol=1e-4)
    last = f"{100 * falling[-1] / falling[0]:.0f} %"
    assert says(speech(at), "compression.words_trained", last=last)
    assert says(speech(at), "compression.words_trained", layer=number)
    assert says([one.value for one in at.subheader], "compression.section_inside", layer=number)
    table = csv(downloads["mla_compression_errors.csv"])
    assert set(table["rank"]) == {0, *SIZES}


def test_drawn_weights_are_one_choice_away_and_called_noise(opened):
    at = opened(PAGE)
    weights = control(at, "cmp_weights")
    assert (weights.value, weights.options) == (
        "own",
        ["the model's own", "chosen spectrum", "random"],
    )
    assert "noise" not in " ".join(one.value for one in at.caption)
    weights.set_value("random").run()
    assert "noise" in " ".join(one.value for one in at.caption)
    layer = GroupedQueryAttention(trained_models.MHA, seed=0)
    h = torch.tensor(hidden_states(WORDS, 0, layer.config.d_model))[None]
    (lost,) = loss(layer, h, joint(layer.W_K, layer.W_V), [CACHED])
    assert metrics(at) == {label: error_percent(vars(lost)[name]) for name, label in ERRORS.items()}
    assert says(speech(at), "compression.line", rank="13", full="48")
    titles = [one.value for one in at.subheader]
    assert says(titles, "compression.section_latent")
    assert not says(titles, "compression.section_cut")
    at.button(key="take_trained").click().run()
    assert control(at, "cmp_weights").value == "own"
    assert not {"cmp_weights", "preset"} & {*at.query_params}
    assert says([one.value for one in at.subheader], "compression.section_cut")


def test_queries_are_those_of_a_published_model(seen):
    sentence = saying(seen(PAGE).at, "Our small models")
    assert "in DeepSeek-V3" in sentence
    assert "has 1,536 numbers" in sentence
    assert says(sentence, "compression.query_look_published", queries="24,576")


def test_how_many_answers_are_left_when_every_layer_becomes_mla(opened, monkeypatch):
    monkeypatch.setattr("ui.sources.trained.FOLDER", SHIPPED)
    model, _ = load_model(SHIPPED / "mha.safetensors")
    found = IntoMLA.by_texts(model, measured(answers.MEASURED, answers.SEED))
    right, whole = (percent(one) for one in (found.cut(found.most), model))
    assert right != whole
    told = f"still gives **{right}** of the answers instead of {whole}."
    assert any(told in plain(text) for text in prose(opened(PAGE)))


def test_without_a_trained_mha_weights_are_drawn(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("ui.sources.trained.FOLDER", tmp_path)
    trained_models.write(tmp_path, "mla")
    at = opened(PAGE)
    assert control(at, "cmp_weights").options == ["chosen spectrum", "random"]
    assert says(speech(at), "compression.line", rank="13", full="48")
    (tmp_path / "mha.safetensors").write_bytes(b"no model")
    at = opened(PAGE)
    assert "mha.safetensors" in refusal(at)
    assert control(at, "cmp_weights").value == "own"
    assert at.table, "the page lives"
