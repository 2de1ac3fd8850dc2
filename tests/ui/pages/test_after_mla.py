"""The page after_mla: every number against the counted caches, each chart as it is drawn."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamlit.testing.v1 import AppTest

from kvcount import MODELS, Placing, Storage, read_bytes
from kvcount.mistakes import mistakes
from mla_engine import PRESETS
from tests.ui.controls import control
from tests.ui.screen import Chart, charts, csv, lead, plain, prose, says, speech, statement
from ui.pages.after_mla.view import STORY as SETTINGS_STORY

PAGE = "pages/after_mla.py"
CHINESE = "[\u4e00-\u9fff]"
GIB = 2**30


def drawn(at: AppTest) -> tuple[Chart, Chart]:
    steps, read, _ = charts(at)
    return steps, read


def ended(chart: Chart, name: str) -> np.ndarray:
    """Return where the bars of a series end, which begin at the left end of the axis."""
    begin = chart.trace(name)["base"]
    assert np.log10(begin) == pytest.approx(chart.layout["xaxis"]["range"][0])
    return begin + chart.values(name, "x")


def test_v4_flash_by_hand(seen):
    at = seen(PAGE).at
    text = speech(at)
    bytes_per_token = 2 * (21 * 640 / 4 + 20 * 512 / 128)
    mha = 43 * 64 * 1024 * 2
    width = mha / 65536 * (21 * 640 + 20 * 512) / 41
    length = bytes_per_token * 43 / 41
    assert lead(at)[0] == "6.88 kB"
    assert says(
        plain(statement(at)),
        "after_mla.line",
        model="DeepSeek-V4-Flash",
        times="819",
        mha="5.64 MB",
    )
    steps, _ = drawn(at)
    read = 2 * (21 * (512 * 512 + 2**15 * 128) + 20 * 1024 * 512) / 2**17
    kept = [mha, width, length, bytes_per_token, bytes_per_token]
    wanted = [*kept, read]
    assert_allclose(ended(steps, "stored"), [*kept, np.nan])
    assert_allclose(ended(steps, "read by the next token"), [*[np.nan] * 5, read])
    assert steps.layout["barmode"] == "overlay"
    begin, end = steps.layout["xaxis"]["range"]
    assert begin < np.log10(min(wanted)) - 0.3, "the least bar is seen"
    assert end > np.log10(max(wanted)) + 1, "the text at the longest has room"
    assert steps.layout["yaxis"]["ticktext"] == [
        "MHA, bf16", "width", "length", "depth", "bits", "then read",
    ]  # fmt: skip
    assert (steps.layout["xaxis"]["type"], steps.axis("x")) == (
        "log",
        "bytes per token (logarithmic)",
    )
    ends = [plain(text).strip() for text in steps.traces[2]["text"]]
    assert ends == [
        "5.64 MB", "49.7 kB (÷ 113)", "7.22 kB (÷ 6.88)", "6.88 kB (÷ 1.05)", "6.88 kB",
        f"{read / 1000:.2f} kB (÷ {bytes_per_token / read:.2f})",
    ]  # fmt: skip
    assert steps.traces[2]["x"] == pytest.approx(wanted)
    for end in ends:
        assert end in plain(steps.alt)
    assert says(
        text,
        "after_mla.product",
        width="578",
        length="0.145",
        depth="41",
        bits="16",
        total="6.88 kB",
    )
    assert says(
        text, "after_mla.width_moved", rows="640 numbers in 21 layers, 512 numbers in 20 layers"
    )
    assert says(
        text, "after_mla.length_moved", rows="4 tokens in 21 layers, 128 tokens in 20 layers"
    )
    assert says(text, "after_mla.depth_moved", n="41", all="43")
    assert says(text, "after_mla.read_moved", context="131,072", read=f"{read / 1000:.2f} kB")
    assert "**Bits**: unchanged, 16 a number." in text
    table = csv(seen(PAGE).files["mla_after_levers.csv"])
    assert table["lever"].tolist() == ["mha", "width", "length", "depth", "bits", "read"]
    assert_allclose(table["bytes_per_token"], wanted)


@pytest.mark.parametrize(
    ("model", "kv", "number", "line", "sentences"),
    [
        ("deepseek-v3", "bf16", "70.3 kB", "57 times less",
         ["**Length**: unchanged", "**Depth**: unchanged"]),
        ("kimi-k3", "bf16", "27.6 kB", "165 times less",
         ["**Depth**: 24 of 93 layers keep rows that grow; 69 keep one state of a fixed size."]),
        ("deepseek-v4.1-flash", "mxfp4", "850 B", "6,168 times less",
         ["4 of 40 layers keep rows that grow; 2 keep a window of the last tokens, 34 read the"]),
        ("llama-3.1-70b", "fp8", "164 kB", "16 times less", ["**Bits**: 8 bits"]),
        ("gpt-2", "bf16", "36.9 kB", "keeps a key and a value for every head",
         ["**Width**: unchanged"]),
    ],
)  # fmt: skip
def test_other_models_and_types(seen, model, kv, number, line, sentences):
    at = seen(PAGE, am_model=model, **({} if kv == "bf16" else {"am_kv": kv})).at
    assert lead(at)[0] == number
    assert line in statement(at).replace("\xa0", " ")
    assert all(sentence in speech(at) for sentence in sentences)


STORY = {  # the step of each model, as its widget says it
    "llama-3.1-405b": "GQA", "deepseek-v3": "MLA", "deepseek-v3.2-exp": "DSA",
    "glm-5.2": "IndexShare", "kimi-k3": "KDA + MLA", "deepseek-v4-flash": "CSA + HCA",
    "deepseek-v4.1-flash": "CSA2",
}  # fmt: skip


def says_what_it_does(step: str, key: str, text: str) -> None:
    """The kinds of layers, and the numbers that a step names, by the model's own configuration."""
    config = MODELS[key].row.get("config", {})
    layers = [one.kind for one in MODELS[key].model().layers]
    kinds = set(layers)
    match step:
        case "GQA":
            assert kinds == {"gqa"}
        case "MLA":
            assert kinds == {"latent"}
        case "DSA":
            assert kinds == {"indexed"}
            assert f"the best {PRESETS[key].config.index_topk:,}" in text
        case "IndexShare":
            assert kinds == {"indexed", "shared_choice"}
        case "KDA + MLA":
            assert kinds == {"kda", "latent"}
            share = layers.count("kda") / config["num_hidden_layers"]
            assert share == pytest.approx(3 / 4, abs=0.01)
        case "CSA + HCA":
            assert kinds == {"window", "csa", "hca"}
            pools = sorted(set(config["compress_ratios"]) - {0})
            assert f"CSA pools {pools[0]} tokens" in text
            assert f"HCA pools {pools[1]} and reads all" in text
            assert f"The last {config['sliding_window']} tokens" in text
        case "CSA2":
            assert kinds == {"window", "csa2", "csa2_reader"}
            assert MODELS[key].storage["entry"] == "nvfp4"


def test_the_story_goes_from_model_to_model_and_says_what_each_does(opened):
    at = opened(PAGE, am_model="gpt-2", am_own="")
    assert control(at, "am_story").value is None
    assert list(control(at, "am_story").options) == list(STORY.values())
    for code, key in SETTINGS_STORY.items():
        control(at, "am_story").set_value(code).run()
        assert at.session_state["settings"]["am_model"] == key
        assert at.query_params == ({} if code == "pooled" else {"am_model": key})
        assert MODELS[key].name in plain(statement(at))
        says_what_it_does(STORY[key], key, speech(at))
    at = opened(PAGE)
    assert control(at, "am_story").value == "pooled"


def test_what_does_not_grow_is_told_beside_the_product(seen):
    text = speech(seen(PAGE, am_model="kimi-k3").at)
    inputs = 3 * 96 * 128 * (4 - 1) * 2  # of convolutions over 4 tokens: those before, in bf16
    state = 69 * (96 * 128**2 * 4 + inputs) / 2**20  # in float32
    assert says(text, "after_mla.fixed", fixed=f"{state:.0f} MiB")
    assert "windows and states" not in speech(seen(PAGE, am_model="deepseek-v3").at)


def test_where_layers_share_a_choice_those_with_an_indexer_are_named(seen):
    text = speech(seen(PAGE, am_model="glm-5.2").at)
    owners = [0, 1, 2, *range(6, 78, 4)]  # three, and then every fourth
    named = ", ".join(map(str, owners))
    assert says(text, "after_mla.sharing", all="78", layers=named, n="21")
    assert len(owners) == 21
    assert says(text, "after_mla.sharing", own="704")
    assert says(text, "after_mla.sharing", others="57")
    mean = (21 * 704 + 57 * 576) / 78
    assert f"576 numbers: {mean:.0f} on average" in text


@pytest.mark.parametrize("model", ["deepseek-v3.2-exp", "glm-5.3-flash", "deepseek-v3"])
def test_where_every_layer_chooses_no_choice_is_shared(seen, model):
    assert "Shared choice" not in speech(seen(PAGE, am_model=model).at)


@pytest.mark.parametrize(("kv", "context"), [("bf16", 2**17), ("fp8", 2**11)])
def test_stored_and_read_side_by_side(seen, kv, context):
    at, files = seen(PAGE, am_model="gpt-oss-120b", am_kv=kv, am_context=str(context))
    _, chart = drawn(at)
    names = [name.replace("<br>", " ") for name in chart.layout["yaxis"]["ticktext"]]
    by_name = {one.name: one for one in MODELS.values()}
    assert names[-1] == MODELS["gpt-oss-120b"].name
    assert len(names) == 8
    models, storage = [by_name[name].model() for name in names], Storage(kv)
    stored = [float(Placing(model=one, storage=storage).held_bytes(context)) for one in models]
    read = [
        float(sum(read_bytes(layer, storage, context) for layer in one.layers)) for one in models
    ]
    assert_allclose(ended(chart, "stored"), [n / GIB for n in stored])
    assert chart.layout["barmode"] == "group"
    text = chart.traces[2]
    assert text["x"] == pytest.approx([max(pair) / GIB for pair in zip(stored, read, strict=True)])
    assert ["÷ " in plain(end) for end in text["text"]] == [
        one / other > 1.005 for one, other in zip(stored, read, strict=True)
    ]
    assert_allclose(ended(chart, "read by the next token"), [n / GIB for n in read])
    table = csv(files["mla_after_stored_read.csv"])
    assert table["model"].tolist() == names
    assert_allclose(table["stored_bytes"], stored)
    assert_allclose(table["read_bytes"], read)
    assert set(table["context"]) == {context}


def test_what_a_choice_of_keys_reads_of_v3_2(seen):
    text = speech(seen(PAGE, am_model="deepseek-v3.2-exp").at)
    stored = 61 * (512 + 64 + 128) * 2 * 2**17 / GIB
    read = 61 * (2048 * (512 + 64) + 2**17 * 128) * 2 / GIB
    assert f"stores **{stored:.1f} GiB**" in text
    assert says(
        text, "after_mla.reading_less", read=f"{read:.2f} GiB", times=f"{stored / read:.2f}"
    )
    assert "all of it" in speech(seen(PAGE, am_model="deepseek-v3").at)


def test_every_counted_model_has_a_row_with_its_source(seen):
    at, files = seen(PAGE)
    table = at.dataframe[1].value
    counted = list(MODELS.values())
    assert set(table["model"]) == {one.name for one in counted}
    assert len(table) == len(counted)
    v3 = table[table["model"] == MODELS["deepseek-v3"].name].iloc[0]
    assert v3["bytes per token"] == 61 * 576 * 2
    whole = [name for name in table.columns if "GiB" in name]
    assert len(whole) == 2  # stored and read: all of it
    assert_allclose(v3[whole].astype(float), 61 * 576 * 2 * 2**17 / GIB)
    assert (v3["layers"], v3["source"]) == ("61 MLA", MODELS["deepseek-v3"].source)
    assert table[whole[0]].is_monotonic_increasing
    assert len(csv(files["mla_caches_of_models.csv"])) == len(table)


def test_what_calculators_print(seen):
    at, files = seen(PAGE)
    found = sorted(mistakes().values(), key=lambda one: float(one.printed / one.right))
    ratios = [float(one.printed / one.right) for one in found]
    _, _, chart = charts(at)
    assert chart.traces[0]["base"] == 1
    assert_allclose(chart.values("printed / true", "x"), [ratio - 1 for ratio in ratios])
    assert chart.layout["yaxis"]["ticktext"] == [one.short["en"] for one in found]
    ends = [plain(text).strip() for text in chart.traces[1]["text"]]
    assert ends[found.index(mistakes()["latent_all_layers"])] == "3.88×"
    for one, end in zip(found, ends, strict=True):
        assert f"{one.short['en']}: {end}" in plain(chart.alt)
    assert f"{len(found)} formulas" in speech(at)
    assert f"from {ends[0]} to {ends[-1]}" in speech(at)
    shown = at.dataframe[0].value
    assert shown["source"].tolist() == [one.source for one in found]
    assert shown["what it forgets"].tolist() == [one.forgets["en"] for one in found]
    k3 = shown[shown["mistake"] == "KDA counted"].iloc[0]
    assert (k3["model"], k3["printed"], k3["true"]) == (
        MODELS["kimi-k3"].name,
        "107 kB",
        "27.6 kB",
    )
    assert (k3["tokens"], k3["printed / true"]) == ("", "3.88×")
    table = csv(files["mla_printed_formulas.csv"])
    assert table["mistake"].tolist() == [one.key for one in found]
    assert_allclose(table["printed_bytes"], [float(one.printed) for one in found])
    assert_allclose(table["true_bytes"], [float(one.right) for one in found])
    assert_allclose(table["printed_over_true"], ratios)


def test_mistakes_in_chinese(opened):
    at = opened(PAGE, lang="zh")
    _, _, chart = charts(at)
    assert "把 KDA 算入" in chart.layout["yaxis"]["ticktext"]
    assert "3.88" in chart.alt
    assert all(re.search(CHINESE, text) for text in at.dataframe[0].value["漏掉了什么"])


def test_a_cache_that_does_not_grow_is_refused_and_the_choice_stays(opened):
    at = opened(PAGE, am_model="mistral-7b-v0.1")
    assert any(
        says(plain(text), "refused.no_growth")
        for text in (*prose(at), *(one.value for one in at.info), *(one.value for one in at.error))
    )
    control(at, "am_model").set_value("deepseek-v3").run()
    assert lead(at)[0] == "70.3 kB"


OWN = {  # as DeepSeek-V3 has them, in one layer
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
    "num_hidden_layers": 2, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
    "v_head_dim": 128, "q_lora_rank": 1536, "max_position_embeddings": 4096,
}  # fmt: skip


@pytest.mark.parametrize("dropped", [False, True])
def test_a_model_of_the_readers_own_goes_before_the_published_one(opened, dropped):
    at, text = opened(PAGE, am_context="1024"), json.dumps(OWN)
    if dropped:
        file = ("config.json", text.encode(), "application/json")
        at.file_uploader(key="am_config:file").set_value(file).run()
    else:
        at.text_area(key="am_config").set_value(text).run()
    assert not at.exception
    kept = 2 * (512 + 64) * 2  # two layers of latent and rotary key, in two bytes each
    assert lead(at)[0] == f"{kept / 1000:.2f} kB"
    steps, read = drawn(at)
    assert ended(steps, "stored")[-2] == pytest.approx(kept)
    assert ended(steps, "read by the next token")[-1] == pytest.approx(kept)
    assert read.layout["yaxis"]["ticktext"][-1] == "deepseek_v3"
    assert ended(read, "stored")[-1] * GIB == pytest.approx(1024 * kept)
    assert "deepseek_v3: counted from its config.json." in speech(at)
