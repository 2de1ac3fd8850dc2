"""The cache page's section of the reader's own model: by name, and by a pasted config.json."""

import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from kvcount import MODELS
from kvcount.report import KINDS
from kvcount.tests.published import GLM_5_2, KIMI_K3, V3, V4_FLASH
from mla_engine import PRESETS
from mla_engine.checkpoints.own_preset import preset_of_config
from mla_engine.given_preset import given_preset
from tests.checkpoints.conftest import empty_cache  # noqa: F401, a fixture
from tests.checkpoints.serving import serving
from tests.checkpoints.test_own_preset import OWN
from tests.ui.screen import csv, lead, says, statement
from ui.pages.kv_cache.own import PASTED
from ui.settings.parsers import preset_of
from ui.words.text import catalogue

WINDOW = {"a sliding window"}
PAGE = "pages/kv_cache.py"
Opened = Callable[..., AppTest]


def pasted(at: AppTest, text: str) -> AppTest:
    at.text_area(PASTED).input(text).run()
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    """The sentence about the model, "" where there is none."""
    found = [m.value for m in at.main.markdown if "** stores **" in m.value]
    return found[0] if found else ""


def test_nothing_is_said_before_a_model_is_given(opened: Opened):
    at = opened(PAGE)
    assert said(at) == ""
    assert (len(at.table), len(at.error)) == (2, 0)


def test_a_stored_model_by_its_name(opened: Opened, downloads: dict[str, object]):
    at = opened(PAGE, kv_own="deepseek-v3", kv_context="1024", kv_batch="4", kv_ranks="8")
    assert says(said(at), "kv_cache.own_line", token="70,272 B", numbers="35,136", type="bf16")
    assert "274 MiB for 4 × 1,024 tokens" in said(at).replace("\N{NO-BREAK SPACE}", " ")
    kinds, gpus = (at.table[n].value for n in (0, 1))
    assert list(kinds.index) == ["a latent (MLA)"]
    assert list(kinds["Layers"]) == ["61"]
    assert list(kinds.columns) == ["Layers", "Stored per token", "Read at the next token"]
    assert list(gpus["Stored per token on each"]) == ["281,088 B", "70,272 B"]
    found = json.loads(downloads["model_cache.json"]())
    assert found["stored_bytes_per_token"] == 70_272
    attention = MODELS["deepseek-v3"].model().attention_parameters
    assert list(gpus["Weights on each"]) == ["78.1\xa0GiB", "87.4\xa0GiB"]  # fp8 at first
    for way, whole, sequences in (("tensor", 0, 4), ("data", attention, 1)):
        each = 143_771 * 2**20 - whole - (671_026_404_352 - whole) / 8
        assert found["gpus"][way]["longest_context"] == each // (sequences * 70_272)


@pytest.mark.parametrize(
    ("config", "token", "kinds"),
    [
        (V3, "70,272 B", {"a latent (MLA)": "61"}),
        (KIMI_K3, "27,648 B", {"a state (KDA)": "69", "a latent (MLA)": "24"}),
        (
            V4_FLASH,
            "6,880 B",
            {
                "a sliding window": "2",
                "pooled entries that an indexer chooses (CSA)": "21",
                "pooled entries (HCA)": "20",
            },
        ),
        (
            GLM_5_2,
            "95,232 B",
            {
                "a latent and an index key (DSA)": "21",
                "a latent, chosen from by an earlier layer (DSA)": "57",
            },
        ),
    ],
)
def test_a_pasted_configuration(opened: Opened, config: dict, token: str, kinds: dict[str, str]):
    at = pasted(opened(PAGE), json.dumps(config))
    assert says(said(at), "kv_cache.own_line", token=token)
    found = at.table[0].value
    assert found["Layers"].to_dict() == kinds
    states = {kind for kind in kinds if kind.startswith("a state")}
    assert set(found.index[found["Stored per token"] == "–"]) == states | WINDOW & set(kinds)


def test_what_is_pasted_comes_before_the_name_and_is_kept(opened: Opened):
    at = pasted(opened(PAGE, kv_own="deepseek-v3"), json.dumps(KIMI_K3))
    assert "27,648 B" in said(at)
    at.main.select_slider(key="kv_context").set_value(2048).run()
    assert "27,648 B" in said(at)
    assert "× 2,048 tokens" in said(at)
    assert "70,272 B" in said(pasted(at, ""))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not readable JSON"),
        ("[1]", "nothing of this log is understood"),
        ('{"model_type": "new", "kv_lora_rank": 1}', "resembles latents"),
        (json.dumps(V3 | {"kv_lora_rank": None}), "has no kv_lora_rank"),
        (json.dumps(V3 | {"num_hidden_layers": 10**9}), "num_hidden_layers"),
        ('{"model_type": "\u202e<b>"}', "U+202E"),
    ],
)
def test_a_refusal_is_one_sentence_and_the_page_goes_on(opened: Opened, text: str, reason: str):
    at = opened(PAGE, kv_view="layouts", kv_left="minicpm3-4b")
    before = [m.value for m in at.main.markdown]
    pasted(at, text)
    assert len(at.error) == 1
    assert reason in html.unescape(at.error[0].value)
    assert "<b>" not in at.error[0].value
    assert [m.value for m in at.main.markdown] == before
    assert at.text_area(PASTED).value == text
    assert "70,272 B" in said(pasted(at, json.dumps(V3)))
    assert not at.error


def test_a_name_that_is_none_is_refused(opened: Opened):
    at = opened(PAGE, kv_own="no such model")
    assert says(at.error[0].value, "count.no_source")
    assert len(at.table) == 2


def test_a_folder_is_read_by_a_worker(opened: Opened, demo: str):
    at = opened(PAGE, kv_own=demo)
    assert "a latent (MLA)" in at.table[0].value.index


def test_of_a_repository_config_json_alone_is_read(
    opened: Opened,
    demo: str,
    empty_cache: object,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
):
    with serving(Path(demo)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        at = opened(PAGE, kv_own="who/model")
        assert "a latent (MLA)" in at.table[0].value.index
        files = {path.rpartition("/")[2] for _, path, _ in hub.asked}
        assert files == {"main", "config.json"}
        asked = len(hub.asked)
        at.main.select_slider(key="kv_context").set_value(2048).run()
        assert len(hub.asked) == asked  # kept
        at.text_input(key="kv_own").input("who/gated").run()
        assert says(html.unescape(at.error[0].value), "phrase.so_public_only")
        assert len(at.table) == 2


def test_repositories_that_the_server_does_not_read_are_refused(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MLA_REPOSITORIES", "none")
    at = opened(PAGE, kv_own="who/model")
    assert "who/model" in html.unescape(at.error[0].value)
    assert len(at.table) == 2


def test_nothing_is_said_to_fit_beside_weights_that_are_not_known(opened, downloads):
    own = given_preset(PRESETS["deepseek-v3"].config, name="Mine", n_layers=61, n_caches=61).key
    at = opened(PAGE, kv_view="memory", kv_left=own, kv_gpu="t4", kv_context="65536")
    texts = [one.value for one in at.main.markdown]
    held = 61 * 576 * 2 * 65_536 / 2**30
    assert lead(at)[0].replace("\xa0", " ") == f"{held:.2f} GiB"
    assert says(statement(at), "kv_cache.line_memory_unknown")
    assert says(texts[2], "kv_cache.look_memory_whole")
    assert list(at.table[0].value.columns) == ["Memory of each GPU"]
    assert len(at.table[1].value.columns) == 3  # of the published model on the right
    assert sum(says(text, "kv_cache.weights_unknown") for text in texts) == 1
    rows = csv(downloads["kv_cache_memory.csv"])
    mine = rows[rows["model"] == "Mine"]
    unknown = ["free_bytes_each", "longest_context_tokens", "largest_batch"]
    assert (mine[unknown] == "").all(axis=None)


@pytest.mark.parametrize(("side", "other"), [("left", "right"), ("right", "left")])
def test_a_model_given_there_is_shown_on_one_side(opened: Opened, side: str, other: str):
    at = opened(PAGE, kv_context="1024", kv_left="deepseek-v3", kv_right="deepseek-v3")
    pasted(at, json.dumps(OWN | {"_name_or_path": "me/mine"}))
    button = next(one for one in at.button if one.label == f"Show it on the {side}")
    button.click().run()
    assert not at.exception
    key = at.session_state["settings"][f"kv_{side}"]
    assert preset_of(key).config == preset_of_config(OWN, "").config
    assert at.session_state["settings"][f"kv_{other}"] == "deepseek-v3"
    again = opened(PAGE, **{f"kv_{side}": key, "kv_context": "1024"})
    rows = again.table[side == "right"].value.iloc[:, 0]
    assert rows[rows.index.str.startswith("MLA")].iloc[0].endswith(f"{384 + 32}")
    assert again.selectbox(key=f"kv_{side}").value == key


def test_a_model_that_is_only_counted_is_refused_as_a_side(opened: Opened):
    at = pasted(opened(PAGE), json.dumps(V4_FLASH))
    before = dict(at.session_state["settings"])
    next(one for one in at.button if one.label == "Show it on the right").click().run()
    assert len(at.error) == 1
    assert dict(at.session_state["settings"]) == before


@pytest.mark.parametrize(("code", "each"), [("q8_0", 32 + 2), ("q4_0", 16 + 2)])
def test_blocks_of_llama_cpp_are_counted_with_their_scale(opened: Opened, code: str, each: int):
    """ggml-common.h: a block is 32 numbers of 8 or 4 bits, and a 16-bit scale."""
    at = opened(PAGE, kv_own="llama-3.1-8b", kv_type=code)
    told = 32 * 2 * 8 * 128 // 32 * each
    assert f"** stores **{told:,} B**" in said(at)
    assert f"× {each / 32} bytes" in " ".join(one.value for one in at.main.markdown)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_layer_has_its_words(kind: str):
    for page in ("kv_cache.layer", "after_mla.kind"):
        assert f"{page}_{kind}" in catalogue()


def test_a_rounded_number_of_weights_is_called_one(opened: Opened):
    rounded, counted = (
        " ".join(one.value for one in opened(PAGE, kv_own=name).main.markdown)
        for name in ("kimi-k3", "deepseek-v3")
    )
    assert says(rounded, "kv_cache.own_weights_rounded")
    assert "rounded one" not in counted


def test_its_layers_and_tokens_are_dealt_out_and_mtp_layers_counted(opened: Opened):
    link = {"kv_own": "deepseek-v3", "kv_ranks": "16", "kv_context": "1024"}
    at = opened(PAGE, **link, kv_pipeline="2", kv_dcp="8", kv_mtp="1")
    assert "stores **71,424 B**" in said(at)  # of 62 layers
    gpus = at.table[1].value
    assert list(gpus.index) == ["heads split", "and tokens dealt out (DCP)", "sequences dealt out"]
    most = 31 * 576 * 2  # of 31 layers, and of 30 with that of MTP
    assert list(gpus["Stored per token on each"]) == [f"{n:,} B" for n in (most, most // 8, most)]
    at = opened(PAGE, **link, kv_dcp="32")
    assert says(html.unescape(at.error[0].value), "count.dealt_ranks", tensor="16")
    assert {"kv_dcp", "kv_mtp"} <= {one.key for one in (*at.select_slider, *at.toggle)}
