"""A long text's blocks and exact part are those of the whole map that the engine makes."""

import numpy as np
import pytest
import torch

from mla_engine import LatentConfig, MultiHeadLatentAttention
from mla_engine.studies.words import generated_words, hidden_states
from tests.ui.pages.test_attention_maps import LINK, PAGE, isolated, markdown, percent
from tests.ui.screen import cells, clicked, lead, says
from ui.pages.attention_maps import long
from ui.settings.visit import visit

LATENT = LatentConfig(
    d_model=48, n_heads=6, d_head=10, d_value=14, d_latent_kv=20, d_latent_q=12, d_rope=4,
    latent_norm=True,
)  # fmt: skip
TOKENS = 1500
WORDS = generated_words(TOKENS)
LONG = LINK | {"map_generated": str(TOKENS), "map_head": "4", "seed": "10"}


@pytest.fixture(scope="module")
def whole() -> np.ndarray:
    """Head 4's map in one call [t,s]."""
    h = torch.tensor(hidden_states(WORDS, 10, 48))[None]
    layer = MultiHeadLatentAttention(LATENT, seed=10, heads=[4])
    return layer(h).attention[0, 0].numpy()


def blocks(values: np.ndarray, side: int) -> np.ndarray:
    """The largest of each block, NaN where all is masked."""
    count = -(-len(values) // side)
    padded = np.zeros((count * side,) * 2)
    padded[: len(values), : len(values)] = values
    largest = padded.reshape(count, side, count, side).max((1, 3))
    return np.where(np.tri(count, dtype=bool), largest, np.nan)


def test_blocks_and_the_part_are_those_of_the_whole_map(opened, downloads, whole):
    app = opened(PAGE, **LONG, map_query="1450", map_key="1410")
    chart, part = clicked(app, "long_blocks"), clicked(app, "long_part")
    np.testing.assert_allclose(chart.values(0, "z"), blocks(whole, 6), rtol=1e-5, atol=1e-7)
    assert chart.axis("x") == "key<br>each cell: largest of 6 × 6"
    exact = whole[1408:1472, 1408:1472]
    seen = np.tri(64, dtype=bool)
    shown = part.values(0, "z")
    np.testing.assert_allclose(shown[seen], exact[seen], rtol=1e-5, atol=1e-7)
    assert np.isnan(shown[~seen]).all()
    assert part.traces[0]["zmax"] == pytest.approx(exact.max(), rel=1e-5)
    names = part.layout["xaxis2"]["ticktext"]
    assert names[2] == f"{WORDS[1410]} (1410)"
    share, said = percent(float(whole[1450, 1410])), " ".join(markdown(app))
    assert says(
        said,
        "attention_maps.long_part",
        at_query="1,450",
        query=isolated(WORDS[1450]),
        share=share,
        at_key="1,410",
    )
    assert says(
        said, "attention_maps.long_where", top="1,408", bottom="1,471", left="1,408", right="1,471"
    )
    assert lead(app)[0] == "2,250,000 cells"
    table = cells(downloads["long_part.csv"])
    assert float(table[43][3]) == pytest.approx(whole[1450, 1410], rel=1e-5)
    assert table[43][0] == f"1450 {WORDS[1450]}"
    assert float(cells(downloads["long_blocks.csv"])[1][1]) == pytest.approx(1.0)


def test_the_last_part_ends_with_the_text(opened, whole):
    app = opened(PAGE, **LONG, map_query="1499", map_key="1")
    shown = clicked(app, "long_part").values(0, "z")
    assert shown.shape == (1500 - 1472, 64)
    np.testing.assert_allclose(shown, whole[1472:, :64], rtol=1e-5, atol=1e-7)


def test_a_cell_that_the_mask_hides_has_no_share(opened):
    app = opened(PAGE, **LONG, map_query="70", map_key="1300")
    assert np.isnan(clicked(app, "long_part").values(0, "z")).all()
    assert "gives 0" in " ".join(markdown(app))


def test_a_click_on_a_block_opens_its_largest_share(opened, whole, monkeypatch):
    def press(view):
        listen(view)
        if not pressed:
            pressed.append(visit().on_cell({"chart": "long_blocks", "x": 601.5, "y": 1200.5}))

    pressed, listen = [], long.listen
    monkeypatch.setattr(long, "listen", press)
    app = opened(PAGE, **LONG, map_query="1450", map_key="1410")
    block = whole[1200:1206, 600:606]
    row, column = np.unravel_index(block.argmax(), block.shape)
    assert app.query_params["map_query"] == str(1200 + row)
    assert app.query_params["map_key"] == str(600 + column)


def test_what_takes_too_long_is_refused_before_it_is_begun(opened):
    app = opened(PAGE, preset="deepseek-v3", map_generated="32768")
    (said,) = [one.value for one in app.error]
    assert "fewer words" in said
    assert app.query_params["map_generated"] == "32768"


def test_the_comparison_has_at_most_what_is_run_whole(opened):
    app = opened("pages/compare.py", **LONG)
    assert app.query_params["map_generated"] == "1024"
