"""The attention maps of a trained model: what is drawn and said is the model's own trace."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from mla_engine.language_model import load_model
from mla_engine.language_model.heads import head_scores
from tests.ui.maps import check_map, check_tiles, hidden, written
from tests.ui.pages.test_attention_maps import PAGE, isolated, markdown, percent
from tests.ui.screen import cells, charts, clicked, lead, says, statement
from tests.ui.trained_models import LAYERS, TRAINED_ON, model
from ui.words.numbers import share

SHIPPED = Path(__file__).parents[3] / "assets/trained"
OWN = "anna lamp ben cup cleo drum dan boat anna"
NAMES = {
    "mla": "MLA, expanded",
    "mla_absorbed": "MLA, absorbed",
    "mha": "MHA",
    "gqa": "GQA",
    "mqa": "MQA",
}


def run(text: str, variant: str = "mla"):
    """The model's trace of a sentence, as it runs when it writes."""
    whole = model(variant.removesuffix("_absorbed"))
    with torch.inference_mode():
        return whole(torch.tensor([whole.config.tokens(text)]))


def attention(text: str, variant: str = "mla", layer: int = 1):
    """The trace of one of its layers; absorbed where the variant is."""
    trace = run(text, variant).blocks[layer].attention
    if variant != "mla_absorbed":
        return trace
    with torch.inference_mode():
        return model("mla").blocks[layer].attention.forward_absorbed(trace.h)


def nth(text: str, place: int) -> str:
    """A word as the page names it: in quotes, with its number where it stands several times."""
    words = text.split()
    quoted = f"“{isolated(re.sub(r'([^a-z])', lambda c: f'&#{ord(c[0])};', words[place]))}”"
    if words.count(words[place]) == 1:
        return quoted
    before = words[:place].count(words[place])
    known = ("first", "second", "third", "fourth", "fifth")
    return f"the {known[before]} {quoted}" if before < 5 else f"{quoted} number {before + 1}"


def expected(text: str, query: int, variant: str = "mla") -> tuple[str, str]:
    """The likeliest next word after a word, quoted, and how likely it is."""
    chances = torch.softmax(run(text, variant).logits[0, query], -1)
    word = model("mla").config.words[int(chances.argmax())]
    return nth(word, 0), share(float(chances.max()))


@pytest.mark.parametrize("layer", range(LAYERS))
@pytest.mark.parametrize("variant", NAMES)
def test_every_picture_is_the_models_own(opened, downloads, variant, layer):
    link = {"variant": variant, "map_head": "2"} | ({"trained_layer": "0"} if layer == 0 else {})
    app = opened(PAGE, **link)
    trace, words = attention(OWN, variant, layer), tuple(OWN.split())
    seen = np.tril(np.ones((9, 9), dtype=bool))
    every = hidden(trace.attention[0].numpy(), seen)
    check_tiles(clicked(app, "heads"), every, words, [*range(4)], 2, height=430)
    options = {"words": words, "head": 2, "cell": (8, 1)}
    share_of = {"name": "attention", "limits": (0.0, 1.0)}
    check_map(clicked(app, "large"), every[2], **options, **share_of, numbers=True, height=430)
    for code in ("scores_C", "scores_R") if variant.startswith("mla") else ():
        values = hidden(getattr(trace, code)[0, 2].numpy(), seen)
        np.testing.assert_array_equal(clicked(app, code).values(0, "z"), values)
    assert cells(downloads["large.csv"]) == written(every[2], [*words], [*words])
    order = [chart.clicks for chart in charts(app)[:2]]
    assert order == ["large", "heads"], "the map with its words stands first"
    assert says(app.title[0].value, "attention_maps.title_trained")
    number, _ = lead(app)
    assert number == percent(float(trace.attention[0, 2, 8, 1]))


# text, query, key -> what the page calls the key, behind its name
KEYS = [
    (OWN, 8, 1, ", which followed “anna” before"),
    (OWN, 8, 7, ", the word just before"),
    (OWN, 8, 5, ", 3 words back"),
    (OWN, 8, 0, ""),
    ("anna lamp ben anna bell anna", 5, 4, ", which followed “anna” before"),
    ("anna lamp ben anna bell anna", 5, 1, ", which followed “anna” before"),
    ("fig plum fig", 2, 1, ", which followed “fig” before"),
    ("copy fig plum : fig", 4, 2, ", the next word of the list"),
    ("fig plum pear two", 3, 1, ", the word that “two” counts back to"),
    ("the dogs near the cat now", 5, 1, ", the subject"),
    ("( [ close ]", 3, 0, ", the bracket to close now"),
]


@pytest.mark.parametrize(("text", "query", "key", "named"), KEYS)
def test_the_statement_says_who_looks_where_and_what_comes_next(opened, text, query, key, named):
    named = re.sub("“(.*?)”", lambda word: f"“{isolated(word[1])}”", named)
    row = attention(text).attention[0, :, query]
    for head in (1, 2):
        cell = {"map_head": str(head), "map_query": str(query), "map_key": str(key)}
        app = opened(PAGE, sentence=text, **cell)
        number, line = lead(app)
        assert number == share(float(row[head, key]))
        best, most = int(row[head].argmax()), share(float(row[head].max()))
        looks = "most" if best == key else "this much"
        start = f"From {nth(text, query)}, head {head} looks {looks} at {nth(text, key)}{named}."
        if best != key:
            start += f" It looks most at {'itself' if best == query else nth(text, best)} ({most})."
        assert line.startswith(start)
        word, chance = expected(text, query)
        assert line.removeprefix(start).startswith(f" Next, the model expects {word} ({chance})")


# text, query -> what must come next, None where the words leave it open
NEXT = [
    (OWN, 8, "lamp"),
    (OWN, 2, None),
    ("copy fig plum : fig", 4, "plum"),
    ("copy fig plum : fig", 1, None),
    ("fig plum pear two", 3, "plum"),
    ("the dogs near the cat now", 5, "are"),
    ("( [ close ]", 2, "]"),
    ("anna lamp", 1, None),
]


@pytest.mark.parametrize(("text", "query", "right"), NEXT)
def test_what_the_model_expects_is_called_right_or_wrong(opened, text, query, right):
    words, (word, chance) = text.split(), expected(text, query)
    line = statement(opened(PAGE, sentence=text, map_query=str(query), map_key="0"))
    end = line[line.index("Next, ") :].removeprefix(f"Next, the model expects {word} ({chance})")
    if right:
        hit = nth(right, 0) == word
        assert (
            end
            == f", {'and' if hit else 'but'} {nth(right, 0)} {'is' if hit else 'would be'} right."
        )
    elif query + 1 < len(words):
        assert end == f"; {nth(words[query + 1], 0)} follows."
    else:
        assert says(line, "maps.next_open", next=word, chance=chance)


def test_what_does_follow_as_the_model_expects_is_said(opened):
    guess = model("mla").config.words[int(run("anna lamp").logits[0, 1].argmax())]
    line = statement(opened(PAGE, sentence=f"anna lamp {guess}", map_query="1", map_key="0"))
    assert line.endswith(f"), and {nth(guess, 0)} does follow.")


@pytest.fixture
def shipped(monkeypatch):
    """The models that the project ships, in the place of the small ones."""
    monkeypatch.setattr("ui.sources.trained.FOLDER", SHIPPED)


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("variant", ["mla", "mha", "gqa", "mqa"])
def test_the_first_thing_said_is_that_a_head_finds_the_word_and_the_model_is_right(opened, variant):
    whole, _ = load_model(SHIPPED / f"{variant}.safetensors")
    with torch.inference_mode():
        trace = whole(torch.tensor([whole.config.tokens(OWN)]))
    looks = trace.blocks[1].attention.attention[0, :, 8]
    assert float(looks[:, 1].max()) > 0.9, "it does look there"
    head = int(looks[:, 1].argmax())
    number, line = lead(opened(PAGE, variant=variant, map_head=str(head)))
    assert number == share(float(looks[head, 1]))
    chance = share(float(torch.softmax(trace.logits[0, 8], -1).max()))
    anna, lamp = f"“{isolated('anna')}”", f"“{isolated('lamp')}”"
    assert line == (
        f"From the second {anna}, head {head} looks most at {lamp}, which followed {anna} before. "
        f"Next, the model expects {lamp} ({chance}), and {lamp} is right."
    )


def test_a_word_that_cannot_be_seen_and_one_that_sees_itself_alone(opened):
    later = opened(PAGE, map_query="1", map_key="3")
    lamp, cup = nth(OWN, 1), nth(OWN, 3)
    assert lead(later)[0] == "0 %"
    hidden_by = "that comes later, and the causal mask hides it. Next, the model expects"
    assert statement(later).startswith(f"Here {lamp} cannot see {cup}: {hidden_by}")
    assert not any("content alone" in line for line in markdown(later))
    first = opened(PAGE, sentence="anna")
    assert lead(first)[0] == "100 %"
    alone = f"Nothing stands before {nth('anna', 0)}: in every head it sees itself alone."
    assert statement(first).startswith(alone)
    assert not any("content alone" in line for line in markdown(first))
    unmasked = opened(PAGE, map_query="1", map_key="3", map_causal="0")
    assert " cannot see " not in statement(unmasked)
    row = torch.softmax(sum_of(attention(OWN))[0, 0, 1], -1)
    assert lead(unmasked)[0] == share(float(row[3]))


def test_a_word_that_was_not_chosen_is_not_said_to_come_later(opened):
    query = 8
    chosen = attention(OWN, "dsa").chosen[0, query]
    (left_out, *_) = [place for place in range(query) if not chosen[place]]
    link = {"variant": "dsa", "map_query": str(query)}
    earlier = opened(PAGE, **link, map_key=str(left_out))
    said = f"no head looks at {nth(OWN, left_out)}: the indexer did not choose that key. Next,"
    assert statement(earlier).startswith(f"From {nth(OWN, query)}, {said}")
    assert lead(earlier)[0] == "0 %"
    drawn = clicked(earlier, "attention").values(0, "z")[query]
    np.testing.assert_array_equal(np.isfinite(drawn), chosen.numpy())
    later = opened(PAGE, variant="dsa", map_query="1", map_key="3")
    assert says(statement(later), "attention_maps.look_hidden")


def sum_of(trace) -> torch.Tensor:
    return trace.scores_C + trace.scores_R


@pytest.mark.parametrize(
    ("layer", "temperature", "causal"), [(0, 1.0, True), (1, 0.2, True), (1, 2.0, False)]
)
def test_each_part_alone_is_a_softmax_of_that_part(opened, layer, temperature, causal):
    trace, verdicts = attention(OWN, layer=layer), set()
    changed = {"map_temperature": str(temperature), "map_causal": str(int(causal))}
    for query, key, head in ((8, 1, 0), (8, 6, 2), (3, 0, 2), (1, 0, 0)):
        cell = {"map_head": str(head), "map_query": str(query), "map_key": str(key)}
        app = opened(PAGE, trained_layer=str(layer), **cell, **changed)
        seen = query + 1 if causal else 9
        parts = (trace.scores_C, trace.scores_R, sum_of(trace))
        content, position, both = (
            float(torch.softmax(part[0, head, query, :seen] / temperature, -1)[key])
            for part in parts
        )
        said = next(line for line in markdown(app) if line.startswith("By content alone"))
        shown = f"would have {share(content)}, by position alone {share(position)}"
        assert said.startswith(f"By content alone the framed cell {shown}")
        verdict = said.rpartition(": ")[2]
        verdicts.add(verdict)
        assert verdict == told(content, position, both, 1 / seen)
        note = any(line.startswith("Mask and temperature change") for line in markdown(app))
        assert note == (not causal or temperature != 1)
    assert len(verdicts) > 1


def told(content: float, position: float, both: float, even: float) -> str:
    """Return what is said of the shares of a cell."""
    if both <= even:
        return "no more than an even look at every word."
    if both > 2 * max(content, position):
        return "it takes both to look there."
    if content >= 2 * position:
        return "content makes this look."
    return "position makes this look." if position >= 2 * content else "both parts point there."


@pytest.mark.parametrize("text", [OWN, "copy fig plum : fig", "fig plum pear two", "( [ close"])
@pytest.mark.parametrize("layer", range(LAYERS))
def test_what_a_head_does_elsewhere_is_its_score(opened, text, layer):
    kind = dict(zip("ac f(", ("induction", "copying", "", "back", "brackets"), strict=True))[
        text[0]
    ]
    table = head_scores(model("mla"), 6, 2 * 10**6, (kind,)).table[layer, :, 0]
    for head in (0, 3):
        app = opened(PAGE, sentence=text, trained_layer=str(layer), map_head=str(head))
        said = next(line for line in markdown(app) if line.startswith("Over "))
        values = {"texts": 24, "head": head, "score": f"{100 * table[head]:.0f} %"}
        assert says(said, "attention_maps.habit_not", **values)
    plain = opened(PAGE, sentence=text, map_query="0", map_key="0")
    assert not any(line.startswith("Over ") for line in markdown(plain))


@pytest.mark.usefixtures("shipped")
def test_a_head_that_does_it_elsewhere_is_called_by_that(opened):
    whole, _ = load_model(SHIPPED / "mla.safetensors")
    score = head_scores(whole, 6, 2 * 10**6, ("induction",)).table[1, 0, 0]
    said = next(line for line in markdown(opened(PAGE)) if line.startswith("Over "))
    share_of = f"head 0 gives {100 * score:.0f} % to such a word on average"
    assert said == f"Over 24 fresh texts, {share_of}: an induction head."


def test_a_sentence_longer_than_those_of_the_training_is_read_with_a_note(opened):
    for n_words in (TRAINED_ON, TRAINED_ON + 1, 256):
        app = opened(PAGE, sentence=" ".join(["fig"] * n_words))
        assert not app.error
        said = f"The sentence has {n_words} words, and the model was trained on {TRAINED_ON}"
        assert any(line.startswith(said) for line in markdown(app)) == (n_words > TRAINED_ON)
        height = clicked(app, "large").layout["height"]
        assert height == (430 if n_words <= 16 else 560), "a long one needs the room"
    hall = clicked(opened(PAGE, lecture="1"), "large").layout["height"]
    assert hall == round(0.72 * 560), "of a lecture's share of the height, as every map"


def test_drawn_weights_are_said_to_be_noise_and_say_nothing_of_a_look(opened):
    app = opened(PAGE, preset="deepseek-v2-lite")
    assert says(app.title[0].value, "attention_maps.title")
    assert says(statement(app), "attention_maps.drawn")
    told_of = ("Next, the model", "content alone", "fresh texts", "Mask and temperature change")
    assert not any(part in line for line in markdown(app) for part in told_of)
    assert any(says(caption.value, "reader.seeded") for caption in app.caption)
    order = [chart.clicks for chart in charts(app)[:2]]
    assert order == ["heads", "large"]
