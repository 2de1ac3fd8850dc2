"""The further views of the cache page by link: their numbers against arithmetic of their own."""

import json

import pytest

from mla_engine import PRESETS, costs
from tests.ui.test_kv_cache import control, title
from ui.pages.kv_cache import view as kv
from ui.pages.kv_cache import views as kv_views

PAGE = "pages/kv_cache.py"
GIB = 2**30


def cells(at, side: int = 0):
    return at.table[side].value.map(lambda text: text.replace("\xa0", " "))


def said(at) -> str:
    return " ".join(m.value for m in at.markdown).replace("\xa0", " ")


def traces(at, chart: int = 0) -> dict:
    spec = json.loads(at.get("plotly_chart")[chart].proto.spec)
    return {trace["name"]: trace for trace in spec["data"]}


def test_gpu_memory_by_link_and_by_hand(opened):
    at = opened(PAGE, kv_view="memory")
    free, token = 141e9 - 671e9 / 8, 576 * 61 * 2
    assert f"in fp8 leaves {free / GIB:.1f} GiB on each of 8 × H200 SXM" in title(at)
    assert f"room for {free // token:,.0f} tokens" in title(at)
    table = cells(at)
    assert list(table.loc["H200 SXM ◀"]) == ["53.2 GiB", "812,912", "6"]
    assert list(table.loc["H100 SXM"]) == ["too small", "0", "0"]
    assert len(table) == len(costs.GPUS)
    mha = 32_768 // 8 * 61 * 2  # on each of eight GPUs
    assert f"MHA with these heads would stop at {free // mha:,.0f}" in said(at)
    level = traces(at)["left by the weights"]
    assert level["y"] == pytest.approx([free / GIB] * 2)
    control(at, "kv_batch").set_value(8).run()
    assert cells(at).loc["H200 SXM ◀"].iloc[1] == f"{free // (8 * token):,.0f}"
    assert at.query_params["kv_view"] == "memory"


def test_sharing_out_sequences_fits_more_of_them(opened):
    at = opened(PAGE, kv_view="memory", kv_attention="data")
    attention = 61 * costs.parameters(PRESETS["deepseek-v3"].config)
    free = 141e9 - attention - (671e9 - attention) / 8
    each = free // (576 * 61 * 2 * 131_072)
    assert cells(at).loc["H200 SXM ◀"].iloc[2] == f"{8 * each:,.0f}"


def test_weights_that_do_not_fit_or_are_unknown_are_said(opened):
    at = opened(PAGE, kv_view="memory", kv_gpu="t4", kv_right="kimi-k2")
    assert "takes 78.1 GiB on each of 8 × T4, which has only 14.9 GiB" in title(at)
    assert "left by the weights" not in traces(at)
    assert "The weights are left out" in said(at)
    assert cells(at, 1).loc["T4 ◀"].iloc[0] == "14.9 GiB"
    assert "all of a T4" in traces(at, 1)


def test_a_refused_model_leaves_the_other_alive(opened):
    at = opened(PAGE, kv_view="parallel", kv_ranks="16", kv_left="gemma-2b")
    assert "cannot be split among" in title(at)
    assert "split n" in at.error[0].value
    assert len(at.table) == len(at.get("plotly_chart")) == 1


def test_layouts_name_both_baselines_and_both_units(opened):
    at = opened(PAGE, kv_view="layouts", kv_left="deepseek-v2")
    table = cells(at)
    assert list(table["Times the latent"]) == ["56.9×", "71.1×", "1.89×", "1.00×"]
    full = 40_960 * 60 * 2 * 131_072
    assert list(table.loc["heads in full"])[:2] == [f"{full / GIB:.0f} GiB", f"{full / 1e9:.0f} GB"]
    assert "71.1×** against its own heads in full (40,960 numbers)" in said(at)
    assert "56.9×** against plain MHA of the same heads (32,768 numbers" in said(at)
    assert "This model has no MLA" in said(at)  # the right one is Llama


def test_the_latent_is_repeated_and_heads_are_split(opened):
    at = opened(PAGE, kv_view="parallel", kv_ranks="16", kv_sequences="32", kv_groups="8")
    table = cells(at)
    one = 576 * 61 * 2 * 131_072 * 32
    assert list(table.loc["MLA ★"]) == [
        f"{one / GIB:.0f} GiB",
        f"{16 * one / 2**40:.2f} TiB",
        "16.0",
    ]
    assert list(table.loc["MLA ★ by seq."])[::2] == [f"{one / 16 / GIB:.1f} GiB", "1.00"]
    assert list(table["Copies"]) == ["1.00", "2.00", "1.00", "16.0", "1.00"]
    assert "16.0 copies in all" in title(at)


def test_how_far_off_formulas_are(opened):
    at = opened(PAGE, kv_view="formula", kv_left="deepseek-v3.1", kv_right="llama-3-8b")
    off = list(cells(at)["Off by"])
    assert off[:3] == ["right", "0.889× (−11%)", "1.78× (+78%)"]
    assert off[4] == "0.194× (−81%)"  # as the thread that replaced it says
    assert list(cells(at, 1)["Off by"])[2:] == ["4.00× (+300%)"] * 2
    solid = [n for n, trace in traces(at).items() if trace["line"]["dash"] == "solid"]
    assert solid == ["d<sub>c</sub>+d<sub>R</sub>"]


@pytest.mark.parametrize("view", kv_views.VIEWS)
@pytest.mark.parametrize(
    "models", [("minicpm3-4b", "falcon-7b"), ("kimi-linear-48b-a3b", "qwen3-32b")]
)
def test_every_view_opens_for_every_kind_of_model(opened, view, models):
    options = {"kv_view": view, "kv_ranks": "2", "lang": "zh", "kv_log": "0", "kv_unit": "GB"}
    at = opened(PAGE, kv_left=models[0], kv_right=models[1], **options)
    assert not at.error
    charts = at.get("plotly_chart")
    assert len(charts) == (4 if view == "layouts" else 2)
    assert all(chart.proto.alt for chart in charts)


def test_a_download_is_made_without_the_session():
    scenes = tuple(kv.Scene(key, 8, 0, 2, "bf16") for key in ("deepseek-v3", "gemma-2b"))
    s = {
        "kv_gpu": "h200", "kv_ranks": 16, "kv_attention": "tensor", "kv_weights": "fp8",
        "kv_context": 1024, "kv_sequences": 4,
    }  # fmt: skip
    tables = {code: view.download(scenes, s) for code, view in kv_views.VIEWS.items()}
    assert all(len(table) for table in tables.values())
    memory = tables["memory"]
    assert set(memory["model"]) == {"DeepSeek-V3 / R1 (671B)"}  # sixteen do not split eight heads
    formula = tables["formula"].set_index(["model", "formula"])
    assert formula.loc[("DeepSeek-V3 / R1 (671B)", "latent_twice"), "bytes"] == (
        1024 * 61 * 2 * 2 * 1024
    )
    latent = tables["parallel"].query("sharing == 'mla_tensor' and gpus == 8").iloc[0]
    assert (latent["copies"], latent["bytes_each"]) == (8, 576 * 61 * 2 * 1024 * 4)
