"""Real models, layers with sinks: what each row gives to them, by transformers' attention."""

import numpy as np
import pytest
import torch

from tests.checkpoints.models import MODELS, built, rewritten, seen_by
from tests.checkpoints.texts import IDS, TEXT, add_tokenizer, folder_of
from tests.ui.maps import numbers_of
from tests.ui.screen import chart_of, clicked, csv, lead, prose, says, statement

PAGE = "pages/real_models.py"
HEADS, WINDOW, TOKENS = 6, 3, len(IDS)
ISOLATES = dict.fromkeys((0x2068, 0x2069))  # around words of any direction


@pytest.fixture(scope="module", params=[0, 1], ids=["window", "full"])
def layer(request):
    """A layer's number, and the attention of its words as the model ran [h,t,s]."""
    module = MODELS["gpt_oss"].attention(built("gpt_oss"), request.param)
    run = lambda: built("gpt_oss")(torch.tensor([IDS]), use_cache=False)  # noqa: E731
    [(_, _, attention)] = seen_by([module], run)
    return request.param, attention[0].double().numpy()


@pytest.fixture
def shown(opened, models, layer):
    source = str(folder_of("gpt_oss", models))
    return lambda page=PAGE, **link: opened(
        page, source=source, layer=str(layer[0]), text=TEXT, **link
    )


def test_the_title_and_every_head_tell_what_the_sinks_take(shown, layer, downloads):
    app, words = shown(map_head="4"), layer[1].sum(-1).mean(1)
    assert 0.01 < 1 - words.mean() < 0.99
    assert numbers_of(lead(app)[0])[0] == pytest.approx(100 * (1 - words.mean()), rel=5e-3)
    assert "of the attention goes to the sink" in statement(app)
    assert (f"window of {WINDOW} words" in statement(app)) == (layer[0] == 0)
    chart = chart_of(app, f"Vertical bars for {HEADS} heads")
    assert chart.names == ["words", "sink"]
    np.testing.assert_allclose(chart.values("words", "y"), words, rtol=1e-4)
    np.testing.assert_allclose(chart.values("sink", "y"), 1 - words, rtol=1e-4)
    assert says(chart.alt, "real_models.alt_given_sink", most=int(words.argmin()))
    np.testing.assert_allclose(csv(downloads["heads.csv"])["sink"], 1 - words, rtol=1e-4)
    (said,) = (line for line in prose(app) if line.startswith("Head 4 gives"))
    assert numbers_of(said)[1:] == pytest.approx(
        [100 * words[4], 100 * (1 - words[4]), TOKENS], rel=5e-3
    )


def test_words_keep_the_models_shares_and_the_sink_stands_beside_them(shown, layer):
    app, wanted = shown(map_head="2", map_query="5", map_key="5"), layer[1][2]
    values = np.nan_to_num(clicked(app, "large").values(0, "z"))
    np.testing.assert_allclose(values[:, :-1], wanted, atol=1e-5)
    np.testing.assert_allclose(values.sum(1), 1, atol=1e-6)
    (row,) = (line for line in prose(app) if line.startswith("Row "))
    of_words = 100 * wanted[5].sum()
    seen = WINDOW if layer[0] == 0 else 6
    assert numbers_of(row)[:4] == pytest.approx([of_words, seen, 100 - of_words, 100], rel=5e-3)
    assert "less than 100" in row


def test_attention_maps_writes_out_a_word_and_the_sink(shown, layer):
    link = {"map_head": "2", "map_query": "5"}
    for key in (5, TOKENS):
        app = shown("pages/attention_maps.py", **link, map_key=str(key))
        assert not app.error
        given = [*layer[1][2, 5], 1 - layer[1][2, 5].sum()][key]
        (said,) = (line for line in prose(app) if line.startswith("Softmax at temperature"))
        assert numbers_of(said)[-1] == pytest.approx(given, rel=5e-3)
        assert (says(" ".join(prose(app)), "attention_maps.of_sink")) == (key == TOKENS)


def test_attention_maps_writes_the_sink_into_the_formula_of_the_attention(shown):
    for code, named in (("attention", True), ("k", False)):
        [formula] = shown("pages/attention_maps.py", map_tensor=code).latex
        assert (r"\mathrm{sink}" in formula.value) == named


def test_the_sink_is_named_where_all_heads_look_at_it_most(opened, models):
    """Its logit is raised until it takes all."""
    sunk = lambda own: {n: x + 50 * n.endswith("sinks") for n, x in own.items()}  # noqa: E731
    source = str(add_tokenizer(rewritten(models / "sunk", "gpt_oss", sunk)))
    app = opened("pages/attention_maps.py", source=source, text=TEXT)
    assert not app.exception
    assert says(statement(app).translate(ISOLATES), "attention_maps.line_one", favourite="sink")
    app = opened("pages/compare.py", source=source, text=TEXT, vs_view="maps")
    assert not app.exception
    (said,) = (line for line in prose(app) if line.startswith("They differ most"))
    assert "looks at sink: **" in said.translate(ISOLATES)
