"""An engine's log on the Planner page: published ones beside what their threads and files say."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from kvcount.tests.test_explain import LOGS
from tests.ui.screen import csv, refusal, speech

PAGE, KEY = "pages/planner.py", "plan_log"


def pasted(opened, text: str, **link: str) -> AppTest:
    """The page with a log in its box."""
    at = opened(PAGE, **link)
    at.text_area(key=KEY).set_value(text).run()
    assert not at.exception
    return at


def lines(at: AppTest) -> dict[str, str]:
    """The rows of the table: words -> bytes."""
    table = at.table[-1].value
    return dict(zip(table.index, table.iloc[:, 0], strict=True))


def test_a_published_log_is_reconciled_line_by_line(opened, downloads):
    at = pasted(opened, LOGS["kimi_k2_thinking"]["log"], plan_model="kimi-k2-thinking")
    assert lines(at) == {
        "latents and rotary keys, 61 layers x 1,152 bytes": "70,272",
        "an even share for each of 8 tensor-parallel ranks": "−61,488",
        "but latents have no heads to split: each rank keeps them whole": "61,488",
        "whole blocks (64 tokens), and the digits that the log writes": "2.21",
        "of the log: 46.8 GiB / 715,072 tokens": "70,274",
    }
    assert "**70,274 bytes** a token on one GPU, the whole model **70,272**" in speech(at)
    table = csv(downloads["mla_engine_log.csv"])
    assert table["bytes_per_token"].tolist()[:3] == [70_272, -61_488, 61_488]
    told = json.loads(downloads["mla_engine_log.json"]())
    assert told["explained"] == 1


def test_what_is_not_explained_is_said_in_both_languages(opened, monkeypatch):
    row = LOGS["qwen3_235b_vllm"]
    at = pasted(opened, row["log"], plan_model="qwen3-235b-a22b")
    assert "98.9 % of the log's are explained, **553** are not" in speech(at)
    monkeypatch.setattr("streamlit.text_area", lambda *_, **__: row["log"])
    at = opened(PAGE, plan_model="qwen3-235b-a22b", lang="zh")
    assert "有 98.9% 能够解释，还有 **553 字节**不能" in speech(at)
    assert lines(at)["未能解释"] == "553"
    assert all(re.search("[\u4e00-\u9fff]", words) for words in lines(at))


def test_a_model_whose_weights_are_unknown_is_reconciled_too(opened):
    at = opened(PAGE, plan_model="kimi-k2-thinking")
    config = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4}
    sizes = {"num_key_value_heads": 2, "hidden_size": 64}
    at.text_area(key="plan_config").set_value(json.dumps(config | sizes)).run()
    at.text_area(key=KEY).set_value("GPU KV cache size: 1,000 tokens").run()
    assert "Counted for llama: **256 bytes** a token." in speech(at)


@pytest.mark.parametrize("text", ["hello", "*b* <script>"])
def test_what_is_no_log_is_refused_in_its_place(opened, text):
    at = pasted(opened, text)
    assert "nothing of this log is understood" in refusal(at)


def test_lines_of_a_stranger_are_shown_as_they_are(opened):
    odd = "KV cache <img src=x> **bold** $x$"
    at = pasted(opened, f"{LOGS['kimi_k2_thinking']['log']}{odd}\n--model Qwen/Qwen3-8B")
    shown = next(one.value for one in at.markdown if one.value.startswith("Not used:"))
    assert "<img" not in shown
    assert "**" not in shown


def test_nothing_is_read_before_a_log_is_pasted(opened, monkeypatch):
    monkeypatch.setattr("ui.pages.planner.engine_log.parse", None)
    at = opened(PAGE)
    assert not at.exception
    assert at.text_area(key=KEY).value == ""
