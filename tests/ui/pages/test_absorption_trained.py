"""The absorption page as it opens: over the weights of a trained model, and what it reads."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from mla_engine.language_model import ModelTrace
from tests.ui.controls import control
from tests.ui.screen import csv, drawn, refusal, says, speech, statement
from tests.ui.trained_models import model
from ui.sources.trained import OWN
from ui.words.numbers import off_by, prefixed_count, times

PAGE = "pages/absorption.py"
TEXT = "ben cup anna lamp ben"
HEADS, K, C, D = 4, 6, 9, 24  # of the small MLA: heads, their width, the latent's, the model's
DRAWN = ("adds", "bytes", "merged", "spectrum", "u_expanded", "u_absorbed")
DRAWN += ("u_difference", "rounding", "map_0", "map_1", "map_2", "norm")


def attention(layer: int = 1):
    return model("mla").blocks[layer].attention


def read(text: str) -> ModelTrace:
    decoder = model("mla")
    with torch.no_grad():
        return decoder(torch.tensor([decoder.config.tokens(text)]))


def work(queries: int, context: int, widths: tuple[int, int, int]) -> dict[str, int]:
    """Multiply-adds of the scores, both ways, of heads, their width and the latent's."""
    heads, k, c = widths
    keys = queries + context
    return {
        "absorbed": heads * (queries * k * c + queries * c * keys),
        "expanded": heads * (k * c * keys + queries * k * keys),
    }


@pytest.mark.parametrize(("queries", "context"), [(1, 4096), (16, 512), (64, 64)])
def test_the_work_is_that_of_the_trained_sizes_and_of_a_published_one(opened, queries, context):
    link = {} if (queries, context) == (1, 4096) else {"ab_queries": queries, "ab_context": context}
    at = opened(PAGE, **{name: str(value) for name, value in link.items()})
    own = work(queries, context, (HEADS, K, C))
    less, more = sorted(own, key=own.get)
    assert says(
        statement(at),
        "absorption.line",
        less=prefixed_count(own[less]),
        less_form=less,
        more=prefixed_count(own[more]),
        more_form=more,
    )
    shown = drawn(at, DRAWN)["adds"].traces[-1]["x"]
    assert shown == [own["absorbed"], own["expanded"]]
    large = work(queries, context, (128, 128, 512))
    less, more = sorted(large, key=large.get)
    values = {"name": "DeepSeek-V3 / R1 (671B)", "ratio": times(large[more] / large[less])}
    assert says(speech(at), f"absorption.large_{less}", **values)
    less, _ = sorted(own, key=own.get)
    values = {"queries": queries, "context": f"{context:,}"}
    assert says(speech(at), f"absorption.less_{less}", **values)


def test_a_published_size_is_one_choice_away_and_reads_no_sentence(opened):
    at = opened(PAGE)
    small = statement(at)
    control(at, "preset").set_value("deepseek-v2-lite").run()
    large = work(1, 4096, (16, 128, 512))
    assert says(
        statement(at),
        "absorption.line",
        less=prefixed_count(large["absorbed"]),
        less_form="absorbed",
        more=prefixed_count(large["expanded"]),
        more_form="expanded",
    )
    assert "with the same lengths" not in speech(at)
    assert not [area for area in at.text_area if area.key == "sentence"]
    control(at, "preset").set_value("trained").run()
    assert (statement(at), at.query_params) == (small, {})


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("name", ["W_QK", "W_VO"])
def test_merged_matrices_are_those_of_the_trained_weights(opened, name, layer):
    at = opened(PAGE, ab_matrix=name, ab_head="2", trained_layer=str(layer))
    own = attention(layer)
    pairs = {"W_QK": (own.W_UQ[2].T, own.W_UK[2]), "W_VO": (own.W_O[:, 2], own.W_UV[2])}
    left, right = (factor.detach().double().numpy() for factor in pairs[name])
    assert_allclose(drawn(at, DRAWN)["merged"].values(0, "z"), left @ right, atol=1e-6)
    falling = np.linalg.svd(left @ right, compute_uv=False)
    assert_allclose(drawn(at, DRAWN)["spectrum"].values(0, "y"), falling, atol=1e-6)
    rank = np.linalg.matrix_rank(left @ right, tol=1e-5)
    assert says(
        speech(at), "absorption.merged_look", head="2", rows=D, columns=C, rank=rank, most=C
    )
    assert list(at.table[0].value["merged"]) == [str(HEADS * D * C)] * 2


def test_both_forms_give_what_the_model_itself_computes(opened, downloads):
    at = opened(PAGE, sentence=TEXT, ab_type="float32")
    wanted = read(TEXT).blocks[1].attention.u[0].numpy()
    for form in ("expanded", "absorbed"):
        chart = drawn(at, DRAWN)[f"u_{form}"]
        assert_allclose(chart.values(0, "z"), wanted, rtol=1e-4, atol=1e-5)
        names = [f"{word} ({place})" for place, word in enumerate(TEXT.split())]
        assert chart.layout["yaxis2"]["ticktext"] == names
    far = csv(downloads["mla_forms_rounding.csv"]).set_index("type")["between"]
    for name, dtype in (("float64", torch.float64), ("float32", torch.float32)):
        assert 0 < far[name] < 10 * torch.finfo(dtype).eps
    assert far["float32"] < far["bfloat16"] < 10 * torch.finfo(torch.bfloat16).eps
    assert "(4 heads, 5 tokens)" in speech(at)


def test_one_matrix_gives_the_sum_of_the_models_own_scores(opened):
    at = opened(PAGE, sentence=TEXT, ab_head="2")
    scores = read(TEXT).blocks[1].attention.scores_C[0].numpy()
    for place, head in enumerate((2, 3)):
        found = drawn(at, DRAWN)[f"map_{place}"].values(0, "z")
        assert_allclose(found, scores[head], rtol=1e-4, atol=1e-5)
    one = scores.sum(0)
    assert_allclose(drawn(at, DRAWN)["map_2"].values(0, "z"), one, rtol=1e-4, atol=1e-5)
    error = np.sqrt(((one - scores) ** 2).sum() / (scores**2).sum())
    assert says(speech(at), "absorption.one_words", scores=off_by(error))


def test_the_sentence_is_read_and_unknown_words_are_refused(opened):
    at = opened(PAGE)
    names = drawn(at, DRAWN)["norm"].layout["yaxis"]["ticktext"]
    assert names == [f"{n} {word}" for n, word in enumerate(OWN.split())]
    control(at, "sentence").set_value("anna lampe").run()
    assert says(refusal(at), "text.unknown_words")
    assert drawn(at, DRAWN)["norm"].layout["yaxis"]["ticktext"] == names
    control(at, "sentence").set_value("anna lamp").run()
    assert not at.error
    assert drawn(at, DRAWN)["norm"].layout["yaxis"]["ticktext"] == ["0 anna", "1 lamp"]
    assert at.query_params == {"sentence": "anna lamp"}
