"""A sentence is typed, and a head of a real model opened: its map in the browser, by transformers.

The model stands under a name of its own: the pages of the other tests open as without it.
"""

import os
import re
import shutil
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from mla_engine.checkpoints import real_model
from tests.browser.test_attention_maps import click
from tests.browser.waiting import settle
from tests.checkpoints.texts import folder_of
from tests.ui.screen import array

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
ALICE = "Alice went to the market and bought a red apple. "
ALICE += "Then Alice went to the market and bought a green pear."
SHARES = """() => {
  const [plot] = [...document.querySelectorAll(".js-plotly-plot")]
    .filter((one) => one.layout?.meta?.chart === "large");
  const { dtype, bdata, shape } = plot.data[0].z;
  return { dtype, bdata, shape };
}"""


def typed(page: Page, text: str) -> None:
    """Type a text in the place of the one that was read."""
    box = page.get_by_label("Text", exact=True)
    box.fill(text)
    box.press("Control+Enter")
    page.wait_for_url(re.compile(r"text=" + text[:3]))
    settle(page)


def shown(page: Page) -> np.ndarray:
    """The large map [t,s] as the browser has it, 0 where it is masked."""
    return np.nan_to_num(array(page.evaluate(SHARES)))


@torch.no_grad()
def maps_of(folder: Path, ids: list[int]) -> np.ndarray:
    """Every layer's maps [layers,h,t,s]."""
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    run = model(torch.tensor([ids]), output_attentions=True, use_cache=False)
    return torch.stack(run.attentions)[:, 0].numpy()


def test_a_click_on_a_small_map_opens_that_head_on_the_sentence(show, project):
    folder, text = folder_of("llama", project / "models"), "the cat and the moon and the cat"
    link = {"source": f"models/{folder.name}", "text": "the sea", "real_layers": "1"}
    page = show(f"trained_heads?{urlencode(link)}", {"width": 1280, "height": 900})
    typed(page, text)
    click(page, 0, across=1.5 / 2, down=4.5 / 6)
    page.wait_for_url("**map_head=4**")
    settle(page)
    expect(page.get_by_text("Head 4: “")).to_be_visible()
    ids = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")(text).input_ids
    np.testing.assert_allclose(shown(page), maps_of(folder, ids)[1, 4], atol=1e-5)


def test_the_apps_own_model_reads_the_sentence_about_alice(show, project):
    own = ROOT / real_model.FOLDER
    if not own.is_dir():
        pytest.skip(f"no model in {own.name}: head 17.5 was not looked at")
    folder = project / "models" / "of Alice"
    shutil.copytree(own, folder, copy_function=os.link)
    link = {"source": f"models/{folder.name}", "text": "The sea", "layer": "17", "map_head": "5"}
    page = show(f"trained_heads?{urlencode(link)}", {"width": 1280, "height": 900})
    typed(page, ALICE)
    ids = AutoTokenizer.from_pretrained(folder)(ALICE).input_ids
    found = shown(page)
    np.testing.assert_allclose(found, maps_of(folder, ids)[17, 5], atol=1e-4)
    assert found[19, 8] == pytest.approx(0.775, abs=0.005)
