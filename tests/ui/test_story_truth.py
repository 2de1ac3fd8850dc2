"""The story's statements about the trained model are true, by only the engine."""

import re

import pytest
import torch

from mla_engine import costs
from mla_engine.language_model.texts import NAMES, TASKS
from tests.ui.story_model import (
    BOAT,
    DAN,
    LAMP,
    LAST,
    WORDS,
    attention,
    changes,
    expected,
    measured,
    model,
    trace,
)
from ui.frame.story import telling
from ui.sources.trained import OWN

THINGS = tuple(place for place, word in enumerate(WORDS) if word not in NAMES)
SAME = 0.02  # of right answers: what is "as well"
QUOTED = r"“(.+?)”"


@pytest.mark.parametrize("step", telling("")[:2])
def test_the_model_expects_the_word_that_the_story_quotes(step):
    text = step.own.get("sentence", OWN)
    for say in step.say.values():
        *read, asked, answer = re.findall(QUOTED, say)
        assert [*read, asked] in ([text.rpartition(" ")[0], asked], [asked])
        assert (text.split()[-1], expected(text)) == (asked, answer)


def test_whatever_the_pairs_the_model_finds_them():
    pairs = ["ben lamp", "anna drum", "dan cup", "cleo boat"]  # none as in the story
    for pair in pairs:
        name, thing = pair.split()
        assert expected(" ".join([*pairs, name])) == thing


def test_plain_attention_finds_the_lamp_as_well():
    assert expected(OWN, "mha") == expected(OWN) == "lamp"
    assert costs.cache_elements(model().config.attention) * 4 == costs.cache_elements(
        model("mha").config.attention
    )


def test_all_heads_of_layer_1_look_from_anna_to_lamp():
    rows = trace().blocks[1].attention.attention[0, :, LAST]
    assert (rows.argmax(-1) == LAMP).all()
    assert WORDS[LAMP - 1] == WORDS[LAST] == "anna"


def test_the_head_of_layer_0_looks_from_each_thing_to_its_name():
    assert [int(attention(0, 1)[place].argmax()) for place in THINGS] == [i - 1 for i in THINGS]
    assert (WORDS[BOAT], WORDS[DAN]) == ("boat", "dan")


def test_without_that_head_recall_breaks_and_agreement_does_not():
    change = changes("head", 0, 1)
    assert min(change, key=lambda task: change[task].after) == "recall"
    assert change["recall"].before == change["agreement"].before == 1
    assert change["agreement"].after == 1


def test_a_head_of_layer_1_has_others_that_do_the_same():
    for head in range(model().config.attention.n_heads):
        assert changes("head", 1, head)["recall"].after > 0.9


def test_content_prefers_names_and_position_the_word_before():
    run = trace().blocks[0].attention
    content, position = (scores[0, 1, BOAT, : BOAT + 1] for scores in (run.scores_C, run.scores_R))
    named = torch.tensor([word in NAMES for word in WORDS[: BOAT + 1]])
    assert (content[named] > 0).all()
    assert (content[~named] < 0).all()
    assert position.argmax() == DAN
    assert (content + position).argmax() == DAN


def test_without_the_rotary_key_every_task_breaks():
    change = changes("rotary")
    assert all(one.after < one.before - 0.3 for one in change.values())
    assert change["recall"].before == 1


def test_what_a_smaller_latent_breaks():
    copied = changes("rank", 8)["copy"]
    assert copied.before == 1
    assert min(changes("rank", 8).values(), key=lambda one: one.after) == copied


def test_trained_with_a_small_cache_models_recall_as_well():
    for load in TASKS["recall"].loads:
        found = {code: measured().accuracy(code, "recall", load) for code in ("mha", "mla", "mqa")}
        shares = {code: spread.mean for code, spread in found.items()}
        assert max(shares.values()) - min(shares.values()) < SAME, (load, shares)


def test_trained_with_half_of_that_one_model_of_three_recalls():
    assert measured().plan.variants["mla_16"].cached == 16
    for load in TASKS["recall"].loads:
        found = measured().accuracy("mla_16", "recall", load)
        two = 3 * found.mean - found.most  # of the others together
        assert (found.seeds, found.most) == (3, 1)
        assert two < 0.3
