"""From prompt to next word: bars, path, caches and texts against the models of the files."""

import html
import re
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import mechanisms
from mla_engine.language_model import generate
from mla_engine.language_model.texts import NAMES, NUMBERS, OPENING, TASKS, WORDS
from tests.ui.controls import control, pressed
from tests.ui.screen import (
    Chart,
    charts,
    clicked,
    csv,
    lead,
    prose,
    refusal,
    says,
    statement,
    texts,
)
from tests.ui.trained_models import CACHED, LAYERS, TRAINED_ON, VARIANTS, model, write
from ui.words.text import catalogue

PAGE = "pages/language_model.py"
TEXT = "copy fig plum pear : fig"
OWN = "anna lamp ben cup cleo drum dan boat anna"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models in a folder of only this test."""
    monkeypatch.setattr("ui.sources.trained.FOLDER", tmp_path)
    write(tmp_path)
    return tmp_path


def tokens(text: str) -> torch.Tensor:
    return torch.tensor([[WORDS.index(word) for word in text.split()]])


def expected(code: str, text: str, temperature: float = 1.0) -> np.ndarray:
    """Probabilities [t,n] by another way: the last of the attention's forms, softmax by numpy."""
    form = mechanisms.of(VARIANTS[code]).forms[-1].name
    logits = model(code)(tokens(text), form).logits[0].numpy().astype(np.float64) / temperature
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def picture(at: AppTest) -> str:
    (found,) = (h.proto.body for h in at.get("html") if "model_box" in h.proto.body)
    return found


def chart(at: AppTest, key: str) -> Chart:
    """The bars of the next word, or those of the caches."""
    return charts(at)[("lm_next", "lm_caches").index(key)]


def box(at: AppTest) -> object:
    return control(at, "sentence")


def shown_text(at: AppTest) -> str:
    """The text that is run, by the words of the picture."""
    (words,) = re.findall(r"</h4><ol class=\"words_in\">(.*?)</ol>", picture(at))
    return html.unescape(" ".join(re.findall(r"<li[^>]*>(.*?)</li>", words)))


@pytest.mark.parametrize("temperature", [1.0, 0.2, 5.0])
@pytest.mark.parametrize("code", list(VARIANTS))
def test_the_bars_are_the_softmax_of_another_forward(opened, code, temperature):
    at = opened(PAGE, sentence=TEXT, lm_model=code, lm_temperature=str(temperature))
    bars, wanted = chart(at, "lm_next"), expected(code, TEXT, temperature)[-1]
    best = np.argsort(-wanted)[:8]
    assert list(bars.layout["yaxis"]["ticktext"]) == [WORDS[place] for place in best]
    np.testing.assert_allclose(bars.values(0, "x") / 100, wanted[best], rtol=1e-4)
    (above,) = (one.proto.body for one in at.get("html") if '<dl class="next">' in one.proto.body)
    assert html.unescape(" ".join(re.findall("<dt>(.*?)</dt>", above))).split() == [
        WORDS[place] for place in best[:3]
    ]
    widths = [float(width) for width in re.findall(r"width: ([\d.]+)%", above)]
    np.testing.assert_allclose(widths, 100 * wanted[best[:3]], atol=1e-3)
    number, said = lead(at)
    assert float(number.removesuffix(" %")) == pytest.approx(100 * wanted.max(), rel=5e-3)
    assert f"“{WORDS[best[0]]}”" in html.unescape(said)
    assert f"{CACHED[code]} numbers per token and layer" in said


def test_the_statement_quotes_the_last_eight_words(opened):
    assert f"after “{TEXT}” the model" in html.unescape(statement(opened(PAGE, sentence=TEXT)))
    long = html.unescape(statement(opened(PAGE, sentence=f"{OWN} {TEXT}")))
    assert says(long, "language_model.line", text=f"… boat anna {TEXT}")


def test_every_probability_can_be_downloaded(opened, downloads):
    opened(PAGE, sentence=TEXT)
    table = csv(downloads["next_word.csv"])
    wanted = expected("mla", TEXT)[-1]
    assert list(table["word"][:3]) == [WORDS[place] for place in np.argsort(-wanted)[:3]]
    found = dict(zip(table["word"], table["probability"], strict=True))
    np.testing.assert_allclose([found[word] for word in WORDS], wanted, rtol=1e-4)


def test_words_are_written_as_greedy_generation_writes_them(opened):
    at = opened(PAGE, sentence=TEXT)
    steps = generate(model("mla"), tokens(TEXT), 4)
    wanted = TEXT.split()
    for step in steps:
        pressed(at, "lm_write")
        wanted.append(WORDS[int(step.token)])
        assert box(at).value == shown_text(at) == at.query_params["sentence"] == " ".join(wanted)


def test_a_drawn_word_is_drawn_from_the_bars(opened):
    wanted = torch.tensor(expected("mla", TEXT, 2.0)[-1])
    for seed in (1, 2, 3):
        torch.manual_seed(seed)
        at = opened(PAGE, sentence=TEXT, lm_pick="drawn", lm_temperature="2")
        torch.manual_seed(seed)
        word = WORDS[int(torch.multinomial(wanted, 1))]
        pressed(at, "lm_write")
        assert box(at).value == f"{TEXT} {word}"


def test_the_caches_grow_by_the_formula_with_every_word(opened, downloads):
    at = opened(PAGE, sentence=TEXT, lm_model="gqa")
    for length in (6, 7, 8):
        bars = chart(at, "lm_caches")
        wanted = [numbers * LAYERS * length for numbers in CACHED.values()]
        assert list(bars.values(0, "x")) == wanted
        assert list(csv(downloads["caches.csv"])["held"]) == wanted
        assert [text.strip() for text in bars.traces[1]["text"]] == [f"{n:,}" for n in wanted]
        assert says(
            " ".join(texts(at)), "language_model.counted", layers="2", words=length, each="24"
        )
        pressed(at, "lm_write")


def test_unknown_words_are_refused_by_name_and_the_state_stays(opened):
    at = opened(PAGE, sentence=TEXT)
    before, bars = lead(at), chart(at, "lm_next").spec
    box(at).set_value("anna *lampe* ben").run()
    said = refusal(at)
    assert "*lampe*" in said
    assert "lamp" in said.partition("*lampe*")[2]
    assert box(at).value == "anna *lampe* ben"
    assert lead(at) == before
    assert chart(at, "lm_next").spec == bars
    assert at.query_params["sentence"] == TEXT
    box(at).set_value("Anna  lamp\nanna").run()
    assert not at.error
    assert shown_text(at) == "anna lamp anna"


@pytest.mark.parametrize("typed", ["   ", "anna " * 257, "x" * 2001])
def test_what_is_too_long_or_empty_is_refused_in_a_sentence(opened, typed):
    at = opened(PAGE, sentence=TEXT)
    box(at).set_value(typed).run()
    assert len(at.error) == 1
    assert shown_text(at) == TEXT
    if typed.strip() and "x" not in typed:
        assert says(refusal(at), "text.too_many", most="256", given="257")


@pytest.mark.parametrize("text", ["anna xyzzy", "anna " * 257])
def test_a_link_with_such_a_text_says_so_and_shows_the_pages_own(opened, text):
    at = opened(PAGE, sentence=text)
    assert len(at.warning) == 1
    assert shown_text(at) == OWN


def test_a_text_beyond_the_training_has_a_note(opened):
    short, long = "anna " * TRAINED_ON, "anna lamp " * 100
    assert not any(f"at most {TRAINED_ON}" in c.value for c in opened(PAGE, sentence=short).caption)
    at = opened(PAGE, sentence=long)
    said = " ".join(caption.value for caption in at.caption)
    assert says(said, "language_model.beyond", words="200", most=TRAINED_ON)
    assert "words 185 to 200 of 200" in said
    assert says(
        said, "language_model.pooled", n="5"
    )  # 4 heads of 200 words and their gaps in 192 columns
    wanted = expected("mla", long)[-1].max()
    assert float(lead(at)[0].removesuffix(" %")) == pytest.approx(100 * wanted, rel=5e-3)
    at = opened(PAGE, sentence="anna " * 256)
    assert at.button(key="lm_write").disabled


def test_the_path_is_that_of_the_chosen_word(opened, downloads):
    at = opened(PAGE, sentence=TEXT, lm_back="2")
    assert re.findall(r'<li class="lit">(.*?)</li>', picture(at))[:1] == ["pear"]
    table, trace = csv(downloads["language_model_path.csv"]), model("mla")(tokens(TEXT), "absorbed")
    probabilities = expected("mla", TEXT)
    wanted = {"embedding": trace.embedded[0, 3], "output": torch.tensor(probabilities[3])}
    for number, one in enumerate(trace.blocks):
        wanted[f"attention_{number}"] = one.attention.attention[0, :, 3, :4].flatten()
        wanted[f"mlp_{number}"] = one.hidden[0, 3]
    assert set(table["block"]) == set(wanted)
    for code, values in wanted.items():
        found = table[table["block"] == code]["value"].to_numpy()
        np.testing.assert_allclose(found, values.numpy(), rtol=1e-4, atol=1e-6)
    best = probabilities.argmax(-1)
    (out,) = re.findall(r"<ol class=\"words_out\">(.*?)</ol>", picture(at))
    guessed = [html.unescape(word) for word in re.findall(r"<li[^>]*>(.*?)</li>", out)]
    assert guessed == [WORDS[place] for place in best]


def test_every_block_tells_its_shape_where_it_looks_and_who_shows_the_inside(opened):
    drawn = picture(opened(PAGE, sentence=TEXT, lm_model="mla"))
    shapes = re.findall(r'<p class="shape">(.*?)</p>', drawn)
    wide, every = [f"6 × {width}" for width in (24, 20)], f"6 × {len(WORDS)}"
    assert shapes == [wide[0], "4 × 6 × 6", wide[1], "4 × 6 × 6", wide[1], every]
    for number, one in enumerate(model("mla")(tokens(TEXT)).blocks):
        maps = one.attention.attention[0, :, -1]
        head, key = np.unravel_index(int(maps.argmax()), maps.shape)
        said = f"“fig” looks back most at “{TEXT.split()[key]}” (head {head}, "
        assert said in drawn.split(f'block attention_{number}"')[1]


@pytest.mark.parametrize("code", ["mha", "gqa", "mqa", "mla"])
def test_an_attention_opens_the_pages_of_its_inside_with_this_very_run(opened, code):
    at = opened(PAGE, sentence=TEXT, lm_model=code, preset="deepseek-v3", seed="3", lm_back="1")
    for number, one in enumerate(model(code)(tokens(TEXT)).blocks):
        ways = insides(at)[number]
        pages = ["attention_maps"] * 2 + ["absorption" if code == "mla" else "decode"]
        assert [page for page, _ in ways] == [*pages, "trained_heads"]
        (_, maps), (_, kept), (there, run), (_, heads) = ways
        shown = opened("pages/attention_maps.py", **maps)
        every = one.attention.attention[0].numpy()
        head, key = np.unravel_index(int(every[:, -2].argmax()), every[:, -2].shape)
        wanted = np.where(np.tri(every.shape[1], dtype=bool), every[head], np.nan)
        np.testing.assert_allclose(clicked(shown, "attention").values(0, "z"), wanted, atol=1e-6)
        s = shown.session_state["settings"]
        assert (s["map_head"], s["map_query"], s["map_key"]) == (head, every.shape[1] - 2, key)
        shown = opened("pages/attention_maps.py", **kept)
        name = "c_KV" if code == "mla" else "k"
        assert shown.selectbox(key="map_tensor").value == name
        shown = opened(f"pages/{there}.py", **run)
        said = html.unescape(" ".join(caption.value for caption in shown.caption))
        assert says(said, "reader.badge", layer=number)
        assert TEXT in {text for box in shown.text_area for text in (box.value, box.placeholder)}
        assert heads["th_head"] == f"{number}.{head}"
        assert (
            opened("pages/trained_heads.py", **heads).session_state["settings"]["th_variant"]
            == code
        )


def test_a_variant_of_no_other_page_leads_to_its_heads_alone(opened):
    ways = insides(opened(PAGE, lm_model="mla_nope"))
    assert [[page for page, _ in block] for block in ways] == [["trained_heads"]] * 2


def test_the_model_with_indexers_opens_its_maps_and_what_it_chose(opened):
    at = opened(PAGE, sentence=TEXT, lm_model="dsa", lm_back="1")
    for number, one in enumerate(model("dsa")(tokens(TEXT)).blocks):
        (_, maps), (_, kept), (_, run), (last, choice) = insides(at)[number]
        assert [page for page, _ in insides(at)[number]][2:] == ["decode", "sparse"]
        shown = opened("pages/attention_maps.py", **maps)
        seen = np.isfinite(clicked(shown, "attention").values(0, "z"))
        np.testing.assert_array_equal(seen, one.attention.chosen[0])
        shown = opened("pages/attention_maps.py", **kept)
        assert shown.selectbox(key="map_tensor").value == "c_KV"
        assert not opened("pages/decode.py", **run).warning
        shown = opened(f"pages/{last}.py", **choice)
        assert not shown.warning
        words = charts(shown)[0].layout["xaxis"]["ticktext"]
        bold = [place for place, word in enumerate(words) if "<b>" in word]
        assert bold == one.attention.chosen[0, -2].nonzero().flatten().tolist()


def insides(at) -> list[list[tuple[str, dict[str, str]]]]:
    """The ways out of each attention of the picture: page and parameters."""
    blocks = picture(at).split('<section class="block attention_')[1:]
    every = [re.findall(r'href="(\w+)\?([^"]*)"', one.split("</section>")[0]) for one in blocks]
    return [[(page, dict(parse_qsl(html.unescape(q)))) for page, q in one] for one in every]


def answer(task: str, words: list[str]) -> str:
    """Return what a task asks for after these words, found by reading them."""
    if task == "recall":
        assert words[-1] in NAMES
        return words[words.index(words[-1]) + 1]
    if task == "copy":
        start = len(words) - words[::-1].index("copy")
        colon = words.index(":", start)
        return words[start + len(words) - colon - 1]
    if task == "back":
        return words[-2 - NUMBERS.index(words[-1])]
    if task == "agreement":
        start = len(words) - words[::-1].index(".") if "." in words else 0
        assert words[-1] == "now"
        return "are" if words[start + 1].endswith("s") else "is"
    start = len(words) - words[::-1].index(".") if "." in words else 0
    opens = [word for word in words[start:] if word in OPENING]
    closed = len(words) - words.index("close", start) - 1
    return OPENING[opens[::-1][closed]]


@pytest.mark.parametrize("task", list(TASKS))
def test_examples_end_before_an_answer(opened, monkeypatch, task):
    drawn = []

    def noted(*arguments: object) -> list:
        drawn.append(exercise(*arguments))
        return drawn[-1]

    from ui.parts import reader

    exercise = reader.exercise
    monkeypatch.setattr(reader, "exercise", noted)
    at, seen = opened(PAGE, lm_back="3"), set()
    for _ in range(4):
        pressed(at, f"example_{task}")
        words = shown_text(at).split()
        whole = box(at).value.split()
        asked = drawn[-1][len(whole)]
        assert [word.word for word in drawn[-1][: len(whole)]] == whole
        assert asked.determined
        assert asked.word == answer(task, whole)
        assert words == whole[-len(words) :]
        assert at.query_params.get("lm_back") is None
        seen.add(" ".join(whole))
    assert len(seen) == 4, "another one at every press"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_without_models_the_page_tells_how_to_make_them(opened, folder, lang):
    for file in folder.glob("*.safetensors"):
        file.unlink()
    at = opened(PAGE, lang=lang, sentence=TEXT, code="snippet")
    assert at.title[0].value == catalogue()["language_model.title"][lang]
    assert "make train" in refusal(at)
    assert catalogue()["language_model.what"][lang] in prose(at)
    assert any("`make train`" in said for said in prose(at))
    assert lead(at) == ("", "")


def test_where_one_is_damaged_another_can_be_chosen(opened, folder):
    (folder / "mla.safetensors").write_bytes(b"{" * 100)
    at = opened(PAGE, sentence=TEXT)
    assert "mla.safetensors" in refusal(at)
    assert not any("make train" in said for said in prose(at))
    control(at, "lm_model").set_value("mqa").run()
    assert not at.error
    assert f"{CACHED['mqa']} numbers per token and layer" in statement(at)


def test_where_one_is_missing_another_is_shown_with_a_note(opened, folder):
    (folder / "mqa.safetensors").unlink()
    at = opened(PAGE, lm_model="mqa")
    assert len(at.warning) == 1
    assert f"{CACHED['mha']} numbers per token and layer" in statement(at)
    assert len(chart(at, "lm_caches").values(0, "x")) == len(VARIANTS) - 1
