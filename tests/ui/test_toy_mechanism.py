"""A new mechanism brings its package, its texts and its presets, and is on every page."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOY = ROOT / "tests/toy_mechanism"
PARTS = ("app.py", "pages", "ui", "kvcount", "mla_engine", "assets", ".streamlit")
PARTS += ("tests/__init__.py", "tests/patience.py")
SIZES = {"variant": "tied", "d_model": "48", "n_heads": "6", "d_head": "8", "d_value": "8"}
OPENED = {  # page -> the link that shows the mechanism there
    "overview": SIZES,
    "attention_maps": SIZES | {"map_head": "4", "map_query": "3", "map_key": "1"},
    "kv_cache": {"kv_left": "toy-tied", "kv_context": "1024", "kv_ways": "all"},
    "decode": SIZES | {"dec_prompt": "4", "dec_step": "2"},
    "compute": SIZES,
    "compare": SIZES | {"preset": "small", "vs_right": "toy-tied", "vs_view": "maps"},
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Return what every page of a copy with the mechanism says."""
    copy = tmp_path_factory.mktemp("with_toy")
    without = shutil.ignore_patterns("__pycache__")
    for part in PARTS:
        source, target = ROOT / part, copy / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=without)
        else:
            shutil.copy(source, target)
    texts = copy / "ui/words/mechanisms/toy.toml"
    shutil.copytree(TOY, copy / "mla_engine/toy", ignore=shutil.ignore_patterns("words.toml"))
    shutil.copy(TOY / "words.toml", texts)
    (copy / "tests/ui").mkdir()
    shutil.copy(ROOT / "tests/ui/screen.py", copy / "tests/ui/screen.py")
    shutil.copy(ROOT / "tests/ui/__init__.py", copy / "tests/ui/__init__.py")
    script = copy / "look.py"
    shutil.copy(ROOT / "tests/ui/look_at_toy.py", script)
    environment = os.environ | {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    call = [sys.executable, str(script), json.dumps(OPENED)]
    done = subprocess.run(call, cwd=copy, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("page", OPENED)
def test_it_opens_without_an_error(shown, page):
    assert shown[page]["exceptions"] == []
    assert shown[page]["errors"] == []


def test_the_overview_draws_its_flow_and_counts_its_cache(shown):
    page = shown["overview"]
    assert "48" in page["title"], "6 heads of 8 numbers, once"
    assert {"W_KV", "k_C"}.isdisjoint(page["steps"])
    assert page["steps"] == ["h", "q", "kv", "attention", "o", "u"]
    assert page["variants"][-1] == "Tied keys and values"


def test_the_maps_follow_its_scores_to_queries_and_keys(shown):
    page = shown["attention_maps"]
    assert page["charts"] >= 3
    assert {"kv", "W_KV"} <= {said.split(" ")[0] for said in page["tensors"]}


def test_its_cache_stands_beside_the_others(shown):
    rows = shown["kv_cache"]["rows"]
    assert rows["Tied ★"].endswith("= 48")
    assert {"MHA", "MQA", "MLA, assumed"} <= set(rows)
    assert "Tied" in shown["kv_cache"]["other rows"], "a model of another kind is compared with it"


@pytest.mark.parametrize("page", ["decode", "compute"])
def test_its_way_is_among_those_compared(shown, page):
    assert "Tied" in shown[page]["rows"]


def test_it_is_compared_with_another(shown):
    page = shown["compare"]
    assert "Toy-Tied" in page["title"]
    assert page["charts"] == 2
