"""Real models of a GGUF file in the server's folder: read by the worker, maps by the engine."""

import numpy as np
import pytest
import torch

from mla_engine.checkpoints import hidden_states, load_attention
from tests.checkpoints import gguf_model
from tests.ui.screen import charts, says

PAGE = "pages/real_models.py"
TEXT = "the cat sat on the mat in 2024"
HEAD, LAYER = 3, 2


@pytest.fixture(scope="module")
def file(models):
    path = gguf_model.write(models / "small.gguf")
    yield path
    path.unlink()


def test_its_map_is_that_of_its_layer(opened, file):
    at = opened(PAGE, source=str(file), layer=str(LAYER), text=TEXT, map_head=str(HEAD))
    assert not at.error
    with torch.inference_mode():
        trace = load_attention(file, LAYER)(hidden_states(file, TEXT, LAYER).h)
    shown = [chart.values(0, "z") for chart in charts(at) if chart.traces[0]["type"] == "heatmap"]
    own = [z for z in shown if z.shape == trace.attention[0, HEAD].shape]
    np.testing.assert_allclose(np.nan_to_num(own[0]), trace.attention[0, HEAD], atol=1e-6)
    assert any(says(one.value, "checkpoint.note_rounded") for one in at.caption)


def test_a_file_that_is_cut_short_is_told_and_the_page_goes_on(opened, models, file):
    cut = models / "cut.gguf"
    cut.write_bytes(file.read_bytes()[:-1000])
    at = opened(PAGE, source=str(cut), text=TEXT)
    cut.unlink()
    assert not at.exception
    assert "is cut short" in at.error[0].value
    assert str(models.parent) not in at.error[0].value.replace(str(cut), "")
