"""The story where the app's own real model is there: told of that, and true of what is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.ui.conftest import OWN, ROOT
from tests.ui.test_story import lights_what_is_there, says_what_is_shown, shown
from ui.engine import shared_cache
from ui.frame.story import Step, telling
from ui.settings.page import PAGES
from ui.settings.parsers import as_text
from ui.settings.shared import LANGUAGES

FOLDER = ROOT / OWN[0]
PLAIN, REAL = telling(""), telling(OWN[0])
TOLD = [n for n, steps in enumerate(zip(PLAIN, REAL, strict=True), 1) if steps[0] != steps[1]]
SHOWN = [n for n in TOLD if "source" in REAL[n - 1].own]  # the others are of the made-up language


def link(step: Step, number: int) -> dict[str, str]:
    return {name: as_text(value) for name, value in step.own.items()} | {"stop": str(number)}


def says(at: AppTest, step: Step) -> bool:
    return step.say["en"] in [written.value for written in at.markdown]


def test_the_first_two_chapters_are_told_of_it_and_each_step_in_both_languages():
    assert [REAL[n - 1].chapter for n in SHOWN] == [1, 1, 2, 2, 2]
    assert [step.chapter for step in REAL] == [step.chapter for step in PLAIN]
    for step in REAL:
        assert all(step.say[lang] and step.note[lang] for lang in LANGUAGES)


@pytest.mark.parametrize("number", TOLD)
def test_every_step_opens_with_a_model_of_its_layers(opened, own_model, number):
    step = REAL[number - 1]
    at = opened(PAGES[step.page].file, **link(step, number))
    assert not at.error
    assert not at.warning
    assert at.session_state["settings"]["source"] == step.own.get("source", "")
    assert says(at, step)
    lights_what_is_there(step, at)
    at.button(key="story_next").click().run()
    assert says(at, REAL[number])


@pytest.mark.parametrize("number", SHOWN)
def test_a_link_of_the_made_up_language_opens_it_with_the_model_too(opened, own_model, number):
    step = PLAIN[number - 1]
    at = opened(PAGES[step.page].file, **link(step, number))
    assert says(at, step)
    assert at.session_state["settings"]["source"] == ""


@pytest.mark.parametrize("number", [SHOWN[0], SHOWN[-1]])
def test_a_link_of_the_model_opens_the_same_step_where_it_is_not(
    opened, own_saved, monkeypatch, number
):
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", OWN)
    step = REAL[number - 1]
    at = opened(PAGES[step.page].file, **link(step, number))
    assert says(at, PLAIN[number - 1])
    assert not at.error
    settings = at.session_state["settings"]
    assert (settings["stop"], settings["source"]) == (number, "")


@pytest.fixture(scope="module")
def fetched() -> Iterator[Path]:
    """Use the real model that `make real-model` makes, where it is there."""
    if not FOLDER.is_dir():
        pytest.skip(f"{OWN[0]} is not there: make real-model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.sources.small_model.AS_TRAINED.names", OWN)
        patch.setenv("MLA_MODEL_FOLDERS", str(FOLDER.parent))
        shared_cache.clear()  # of a smaller model, which had the same name
        yield FOLDER
        shared_cache.clear()


@pytest.mark.parametrize("number", SHOWN)
def test_every_figure_of_a_step_stands_on_its_page(opened, fetched, number):
    step = REAL[number - 1]
    at = opened(PAGES[step.page].file, **link(step, number))
    assert not [one.value for one in at.error]
    says_what_is_shown(step, shown(at, step.say["en"]))


@pytest.fixture(scope="module")
def theirs(fetched):
    """`theirs(text)` is what transformers computes: pieces, maps [layers,h,t,s], next-word odds."""
    model = AutoModelForCausalLM.from_pretrained(
        fetched, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    cut = AutoTokenizer.from_pretrained(fetched)

    @torch.no_grad()
    def run(text: str, *, without: tuple[int, int] | None = None):
        def drop(_module, given):
            heads = given[0].unflatten(-1, (model.config.num_attention_heads, -1)).clone()
            heads[..., without[1], :] = 0
            return (heads.flatten(-2),)

        ids = cut(text, return_tensors="pt").input_ids
        hook = without and model.model.layers[
            without[0]
        ].self_attn.o_proj.register_forward_pre_hook(drop)
        found = model(ids, output_attentions=True)
        if hook:
            hook.remove()
        odds = found.logits[0, -1].softmax(-1)
        pieces = [cut.decode([one]) for one in ids[0].tolist()]
        words = cut.batch_decode([[one] for one in range(len(odds))])
        odds = dict(zip(words, odds.tolist(), strict=True))
        return pieces, torch.stack(found.attentions)[:, 0], odds

    return run


def test_what_the_first_chapter_says_is_what_transformers_computes(theirs):
    for number, word in zip(SHOWN, (" apple", " hat"), strict=False):
        _, _, odds = theirs(REAL[number - 1].own["text"])
        assert max(odds, key=odds.get) == word
        assert f"“{word.strip()}” with {100 * odds[word]:.3g} %" in REAL[number - 1].say["en"]
    _, _, odds = theirs(REAL[SHOWN[1] - 1].own["text"].rpartition(". Then ")[2])
    assert max(odds, key=odds.get) == " car"
    assert f"“car”, with {100 * odds[' car']:.3g} %" in REAL[SHOWN[1] - 1].note["en"]


def test_what_the_second_chapter_says_is_what_transformers_computes(theirs):
    looks, heads, before = (REAL[n - 1] for n in SHOWN[2:])
    pieces, maps, _ = theirs(looks.own["text"])
    at = {name: looks.own[f"map_{name}"] for name in ("head", "query", "key")}
    assert (pieces[at["query"]], pieces[at["key"]]) == (" red", " apple")
    share = maps[looks.own["layer"], at["head"], at["query"], at["key"]].item()
    assert f"{100 * share:.3g} %" in looks.say["en"]
    assert (maps[17, :, 20, 9] > 0.5).nonzero().flatten().tolist() == [3, 4, 5]
    assert "3 of the 9 heads" in heads.say["en"]
    assert maps[17, 5, 19].argmax() == 8

    layer, head, query, key = (before.own[n] for n in ("layer", "map_head", "map_query", "map_key"))
    assert (pieces[query], pieces[key]) == (" apple", " red")
    assert f"{100 * maps[layer, head, query, key]:.3g} %" in before.say["en"]
    assert (maps[layer, head, 2:].argmax(-1) == torch.arange(1, len(pieces) - 1)).all()


def test_what_the_notes_say_of_heads_that_are_taken_away(theirs):
    text = REAL[SHOWN[2] - 1].own["text"]
    looking, finding = theirs(text, without=(16, 0)), theirs(text, without=(17, 5))
    notes = " ".join(REAL[n - 1].note["en"] for n in TOLD)
    assert f"{100 * looking[1][17, 5, 20, 9]:.3g} %" in notes
    for _, _, odds in (looking, finding):
        assert f"{100 * odds[' apple']:.3g} %" in notes
