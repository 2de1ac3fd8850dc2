"""Hybrids on the pages: a layer that no page shows is refused in a sentence, with one that is."""

import html
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, BailingHybridConfig, KimiLinearConfig

from tests.checkpoints.models import HYBRID, LINEAR, LING

PAGES = ("absorption", "attention_maps", "compare", "compression", "decode", "real_models", "rope")
FOUR = {"num_hidden_layers": 4, "vocab_size": 800, "head_dim": 12}
CONFIGS = {
    "kimi": KimiLinearConfig(
        **HYBRID | LINEAR | FOUR | {"layer_types": ["linear_attention"] * 3 + ["full_attention"]}
    ),
    "ling": BailingHybridConfig(**HYBRID | LING | FOUR | {"layer_group_size": 4}),
}


@pytest.fixture(scope="module")
def folders(demo: str) -> dict[str, str]:
    """A small model of each family beside the demonstration model, with its tokenizer."""
    found = {}
    for name, config in CONFIGS.items():
        torch.manual_seed(5)
        folder = Path(demo).parent / name
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        shutil.copy(Path(demo) / "tokenizer.json", folder)
        found[name] = str(folder)
    return found


SAID = {
    "en": "no page shows delta attention (KDA), which layer 1 is: choose layer 3",
    "zh": "第 1 层是增量注意力（KDA），没有页面能展示它：请选择第 3 层",
}


CASES = [(page, "kimi") for page in PAGES] + [("absorption", "ling"), ("decode", "ling")]


@pytest.mark.parametrize(("page", "name"), CASES)
def test_a_linear_layer_is_refused_with_the_next_one_that_is_shown(page, name, folders, opened):
    at = opened(f"pages/{page}.py", source=folders[name], layer="1")
    assert not at.exception
    assert SAID["en"] in html.unescape(at.error[0].value)
    next(b for b in at.button if b.label == "Show layer 3").click().run()
    assert not at.exception
    merged = (page, name) == ("absorption", "ling")  # whose output gate stands between
    said = [html.unescape(error.value) for error in at.error]
    assert bool(said) == merged
    assert all("stands between W_O and W_UV" in one for one in said)
    assert at.query_params["layer"] in ("3", ["3"])


def test_it_is_refused_in_the_readers_language(folders, opened):
    at = opened("pages/attention_maps.py", source=folders["kimi"], layer="1", lang="zh")
    assert SAID["zh"] in html.unescape(at.error[0].value)


def test_layers_of_two_kinds_are_not_compared(folders, opened):
    at = opened("pages/real_models.py", source=folders["kimi"], layer="3", real_layers="yes")
    assert not at.exception
    assert any("Only some layers of this model are MLA" in m.value for m in at.caption)
