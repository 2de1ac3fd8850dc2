"""The page Sparse: its pictures and sentences against layers, sorting and arithmetic by hand."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from kvcount.refusals import RefusedError
from mla_engine.language_model import LanguageModel, save_model
from mla_engine.language_model.accuracy import answers, exercises
from mla_engine.language_model.sparse import ALL, KEYS, RULES
from mla_engine.language_model.texts import TASKS
from tests.ui.controls import pressed
from tests.ui.screen import charts, csv, drawn, lead, prose, refusal, says, texts
from tests.ui.trained_models import model, write
from ui.pages.sparse import view as run
from ui.pages.sparse.view import OWN

PAGE = "pages/sparse.py"
TEXT = "copy fig plum pear corn kale : fig plum"
KINDS = ("keys", "answers", "read")
GIB = 2**30


def dsa(keys: int) -> LanguageModel:
    """The small model, made with so many keys."""
    own = model("dsa")
    attention = replace(own.config.attention, index_topk=keys)
    made = LanguageModel(replace(own.config, attention=attention))
    made.load_state_dict(own.state_dict())
    return made.requires_grad_(False)


def of_query(keys: int, layer: int, place: int, text: str = TEXT):
    """Index scores, dense attention of the heads, and the keys chosen, of one query."""
    whole = dsa(keys)
    trace = whole(torch.tensor([whole.config.tokens(text)])).blocks[layer].attention
    scores = (trace.scores_C + trace.scores_R)[0, :, place, : place + 1]
    index = trace.index[0, place, : place + 1]
    order = np.argsort(-index.numpy().astype(np.float64), kind="stable")
    return torch.softmax(index, -1), torch.softmax(scores, -1), sorted(order[:keys].tolist())


def right(whole: LanguageModel) -> float:
    """Return the share of right answers, all together, text by text."""
    given = [
        answers(whole, exercises(task.name, load, run.ASKED, run.SEED)).given
        for task in TASKS.values()
        for load in task.loads
    ]
    return torch.cat(given).double().mean().item()


@pytest.mark.parametrize(("keys", "layer", "back"), [(2, 0, 0), (4, 1, 2), (8, 1, 0)])
def test_the_bars_are_the_layers_own_and_the_bold_words_the_chosen_ones(opened, keys, layer, back):
    link = {"sp_keys": str(keys), "sp_layer": str(layer), "sp_back": str(back)}
    at = opened(PAGE, sentence=TEXT, **link)
    chart, place = drawn(at, KINDS)["keys"], len(TEXT.split()) - 1 - back
    index, heads, chosen = of_query(keys, layer, place)
    np.testing.assert_allclose(chart.values(0, "y"), 100 * index, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(chart.values(1, "y"), -100 * heads.mean(0), rtol=1e-4, atol=1e-4)
    bold = [i for i, text in enumerate(chart.layout["xaxis"]["ticktext"]) if "<b>" in text]
    assert bold == chosen
    lost = 1 - heads[:, chosen].sum(-1).mean().item()
    (said,) = [one for one in prose(at) if one.startswith("From “")]
    assert f"layer {layer}" in said
    plain = html.unescape(said).replace("\xa0", " ")
    assert says(plain, "sparse.left", kept=f"{100 * (1 - lost):.1f} %")
    assert f"**{100 * lost:.1f} %** is left out" in plain
    for few, after in ((keys, "the model expects"), (len(TEXT.split()), "with all keys")):
        shown = dsa(few)
        logits = shown.logits(torch.tensor([shown.config.tokens(TEXT)]))[0, place]
        word = shown.config.words[int(logits.argmax())]
        assert f"{after} “{word}”" in html.unescape(re.sub("<[^>]*>", "", said))


def test_a_query_that_sees_no_more_words_than_are_read_leaves_nothing_out(opened):
    at = opened(PAGE, sentence=TEXT, sp_keys="4", sp_back="5")
    (said,) = [one for one in prose(at) if one.startswith("From “")]
    assert says(said, "sparse.nothing_left", seen="4")
    assert "<b>" in drawn(at, KINDS)["keys"].layout["xaxis"]["ticktext"][3]


def test_a_word_that_markdown_reads_stays_a_word(opened):
    at = opened(PAGE, sentence="( [ close", sp_back="1")
    assert any(one.startswith("From “&#91;”") for one in prose(at))


def test_of_a_long_text_the_chosen_words_are_drawn_first(opened, downloads):
    long = " ".join([TEXT] * 4)
    at = opened(PAGE, sentence=long, sp_keys="16", sp_layer="1")
    words = [
        re.sub("<[^>]*>", "", one) for one in drawn(at, KINDS)["keys"].layout["xaxis"]["ticktext"]
    ]
    last = len(long.split()) - 1
    _, heads, chosen = of_query(16, 1, last, long)
    others = sorted(set(range(last + 1)) - set(chosen), key=lambda s: -heads.mean(0)[s])
    wanted = sorted([*chosen, *others[: 18 - 16]])
    assert words == [long.split()[place] for place in wanted]
    assert says(" ".join(texts(at)), "sparse.drawn", drawn="18", all="36")
    table = csv(downloads["sparse_keys.csv"])
    assert table["word"].tolist() == long.split()
    assert table.index[table["read"]].tolist() == chosen


def test_answers_over_the_keys_are_those_of_models_with_so_many(opened, downloads):
    at = opened(PAGE, sp_keys="3")
    chart, table = drawn(at, KINDS)["answers"], csv(downloads["sparse_answers.csv"])
    assert chart.names[:4] == ["the heads' own best", "indexer", "latest words", "by chance"]
    keys = chart.values(1, "x").tolist()
    for few in (1, 3, 16):
        found = chart.values("indexer", "y")[keys.index(few)]
        assert found == pytest.approx(100 * right(dsa(few)))
    assert table["right"].tolist() == pytest.approx(
        [share / 100 for line in range(4) for share in chart.values(line, "y")]
    )
    assert chart.layout["shapes"][0]["x0"] == 3
    number, said = lead(at)
    assert number.replace("\xa0", " ") == f"{100 * right(dsa(3)):.1f} %"
    assert says(said.replace("\xa0", " "), "sparse.line", whole=f"{100 * right(dsa(63)):.1f} %")
    assert says(said, "sparse.line", keys="3", most="63")


@pytest.mark.parametrize("context", [2**11, 2**17])
def test_what_is_read_and_stored_is_counted_by_hand(opened, context):
    at = opened(PAGE, sp_context=str(context))
    stored, dense = (61 * 2 * width * context for width in (576 + 128, 576))
    read = 61 * 2 * (128 * context + 576 * min(context, 2048))
    (said,) = [one for one in prose(at) if "a step reads" in one]
    plain = re.sub("<[^>]*>", "", said).replace("\xa0", " ")
    unit, name = (GIB, "GiB") if context > 2**14 else (2**20, "MiB")
    for n_bytes in (read, dense):
        assert f"**{n_bytes / unit:.3g} {name}**" in plain
    assert f"{stored / unit:.3g} {name}" in plain
    cross = next(n for n in range(1, 10**4) if 128 * n + 576 * min(n, 2048) < 576 * n)
    assert f"From **{cross:,}** tokens on" in plain
    assert cross == 2634
    chart = drawn(at, KINDS)["read"]
    contexts = chart.values("DSA", "x").astype(np.float64)
    wanted = 61 * 2 * (128 * contexts + 576 * np.minimum(contexts, 2048)) / GIB
    np.testing.assert_allclose(chart.values("DSA", "y"), wanted)
    np.testing.assert_allclose(chart.values("MLA", "y"), 61 * 2 * 576 * contexts / GIB)
    ring = chart.traces[2]
    at_ring = ring["x"][0], ring["y"][0], ring["text"][0]
    assert at_ring == (cross, pytest.approx(61 * 2 * 576 * cross / GIB), f"<b>{cross:,}</b>")


def test_an_example_is_asked_at_its_last_word(opened):
    at = opened(PAGE, sp_back="3")
    assert OWN.split()[-4] in " ".join(one for one in prose(at) if one.startswith("From"))
    pressed(at, "example_copy")
    assert "sp_back" not in at.query_params


def test_without_the_model_the_page_tells_how_to_make_it(opened, tmp_path, monkeypatch):
    write(tmp_path, "mla")
    monkeypatch.setattr("ui.sources.trained.FOLDER", tmp_path)
    at = opened(PAGE)
    assert "make train" in refusal(at)
    assert not charts(at)


@pytest.mark.parametrize(("part", "place"), [("keys", 0), ("answers", 1)])
def test_a_picture_that_is_refused_says_so_in_its_place(opened, monkeypatch, part, place):
    def refuse(_: object) -> None:
        raise RefusedError("no_claim", claim="*X7*", known="X8")

    monkeypatch.setattr(f"ui.pages.sparse.{part}.draw", refuse)
    at = opened(PAGE)
    assert "*X7*" in refusal(at)
    columns = list(at.main.columns)
    above = next(n for n, one in enumerate(columns) if one.select_slider or one.slider)
    assert [n - above for n, one in enumerate(columns) if one.error] == [2 + place]


def test_what_a_model_was_asked_in_training_is_not_asked_again(opened, tmp_path, monkeypatch):
    told = {  # right answers that no model gives
        rule: {str(n): (0.001 * n + place / 10, {"recall": 0.5}, (0.25, 0.75)) for n in KEYS}
        | {str(ALL): (0.999, {"recall": 1.0}, (0.0, 0.0))}
        for place, rule in enumerate(RULES)
    }
    card = {"variant": "dsa", "answers": told}
    write(tmp_path, "mla")
    save_model(model("dsa"), tmp_path / "dsa.safetensors", card)
    monkeypatch.setattr("ui.sources.trained.FOLDER", tmp_path)
    monkeypatch.setattr(run, "answered", lambda *_: pytest.fail("it was asked"))
    at = opened(PAGE, sp_keys="8")
    assert lead(at)[0] == "10.8\N{NO-BREAK SPACE}%"
    assert "99.9\N{NO-BREAK SPACE}%" in lead(at)[1]
    curves = drawn(at, KINDS)["answers"]
    for place in range(len(RULES)):
        told = [0.1 * n + 10 * place for n in KEYS]
        assert list(curves.values(place, "y")) == pytest.approx(told)
    assert any(
        "25.0\N{NO-BREAK SPACE}%" in said and "75.0\N{NO-BREAK SPACE}%" in said
        for said in texts(at)
    )
