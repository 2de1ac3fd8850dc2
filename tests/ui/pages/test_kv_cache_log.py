"""An engine's log on the cache page: published ones beside what their threads and files say."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from kvcount.tests.test_explain import LOGS
from tests.ui.screen import csv, refusal, says, speech
from ui.pages.kv_cache.own import PASTED

PAGE = "pages/kv_cache.py"


def pasted(opened, text: str, **link: str) -> AppTest:
    """The page with a log in its box."""
    at = opened(PAGE, **link)
    at.text_area(key=PASTED).set_value(text).run()
    assert not at.exception
    return at


def lines(at: AppTest) -> dict[str, str]:
    """The rows of the table: words -> bytes."""
    table = at.table[0].value
    return dict(zip(table.index, table.iloc[:, 0], strict=True))


def test_a_published_log_is_reconciled_line_by_line(opened, downloads):
    at = pasted(opened, LOGS["kimi_k2_thinking"]["log"], kv_own="kimi-k2-thinking")
    assert lines(at) == {
        "latents and rotary keys, 61 layers x 1,152 bytes": "70,272",
        "an even share for each of 8 tensor-parallel ranks": "−61,488",
        "but latents have no heads to split: each rank keeps them whole": "61,488",
        "whole blocks (64 tokens), and the digits that the log writes": "2.21",
        "in the log: 46.8 GiB / 715,072 tokens": "70,274",
    }
    assert says(speech(at), "kv_cache.log_all", logged="70,274", counted="70,272")
    table = csv(downloads["mla_engine_log.csv"])
    assert table["bytes_per_token"].tolist()[:3] == [70_272, -61_488, 61_488]
    told = json.loads(downloads["mla_engine_log.json"]())
    assert told["explained"] == 1


def test_what_is_not_explained_is_said_in_both_languages(opened):
    row = LOGS["qwen3_235b_vllm"]
    at = pasted(opened, row["log"], kv_own="qwen3-235b-a22b")
    assert says(speech(at), "kv_cache.log_part", left="553", share="98.9 %")
    at = pasted(opened, row["log"], kv_own="qwen3-235b-a22b", lang="zh")
    assert says(speech(at), "kv_cache.log_part", "zh", share="98.9%", left="553")
    assert lines(at)["未能解释"] == "553"
    assert all(re.search("[\u4e00-\u9fff]", words) for words in lines(at))


def test_the_model_is_the_one_that_the_log_names_or_the_left_one(opened):
    """Qwen3-8B has 36 layers x 2 x 8 heads x 128 numbers x 2 bytes, DeepSeek-V3 70,272 bytes."""
    line = "GPU KV cache size: 1,000 tokens"
    for more, counted in ((" --model Qwen/Qwen3-8B", "147,456"), ("", "70,272")):
        assert says(speech(pasted(opened, line + more)), "kv_cache.log_counted", counted=counted)


def test_the_answer_of_two_numbers_comes_before_the_terms(opened):
    row = LOGS["qwen35_27b_two_numbers"]
    at = pasted(opened, row["log"], kv_own=row["model"])
    assert "1,082,655 tokens fit at 32,768 each, and 290,864 is not the capacity" in speech(at)
    assert "one text of up to 1,163,456 tokens" in speech(at)


@pytest.mark.parametrize("text", ["hello", "*b* <script>"])
def test_what_is_no_log_is_refused_in_its_place(opened, text):
    at = pasted(opened, text)
    assert says(refusal(at), "count.no_log")


def test_lines_of_a_stranger_are_shown_as_they_are(opened):
    odd = "KV cache <img src=x> **bold** $x$"
    at = pasted(opened, f"{LOGS['kimi_k2_thinking']['log']}{odd}\n--model Qwen/Qwen3-8B")
    shown = next(one.value for one in at.markdown if one.value.startswith("Not used:"))
    assert "<img" not in shown
    assert "**" not in shown


def test_nothing_is_read_before_a_log_is_pasted(opened, monkeypatch):
    monkeypatch.setattr("ui.pages.kv_cache.engine_log.parse", None)
    at = opened(PAGE)
    assert not at.exception
    assert at.text_area(key=PASTED).value == ""


def test_a_log_of_json_lines_or_in_fences_is_a_log(opened):
    line = '{"ts": 1, "msg": "GPU KV cache size: 715,072 tokens"}'
    for text in (f"{line}\n{line}", "```\nGPU KV cache size: 715,072 tokens\n```"):
        assert says(speech(pasted(opened, text)), "kv_cache.log_counted", counted="70,272")


def test_a_name_that_is_not_found_does_not_hide_the_log(opened):
    at = pasted(opened, LOGS["kimi_k2_thinking"]["log"], kv_own="no such model")
    assert "no such model" in refusal(at)
    assert says(speech(at), "kv_cache.log_all", logged="70,274")
