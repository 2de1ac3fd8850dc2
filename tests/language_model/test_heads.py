"""The scores of heads: the places that words give, maps by hand, a model by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mla_engine.language_model.accuracy import exercises
from mla_engine.language_model.heads import (
    SCORES,
    HeadScores,
    Places,
    binding,
    deciding,
    head_scores,
    looks,
)
from mla_engine.language_model.texts import NAMES, OPENING, TASKS, THINGS
from tests.language_model.samples import GQA, of_words, tokens_of
from tests.refusals import refusing


def first_after(words, query):
    return words.index(words[query]) + 1


def listed(words, query):
    start = max(i for i in range(query + 1) if words[i] == "copy")
    return words.index(words[query + 1], start)


def places_back(words, query):
    return query - ("one", "two", "three", "four").index(words[query]) - 1


def subject(words, query):
    assert words[query] == "now"
    earlier = [i for i in range(query) if words[i] in ("is", "are")]
    return earlier[-1] + 3 if earlier else 1  # is . the cat


def opened(words, query):
    open_ = []
    for i, word in enumerate(words[: query + 1]):
        if word in OPENING:
            open_.append(i)
        elif word in OPENING.values():
            open_.pop()
    return open_[-1]


BY_WORDS = {
    "induction": first_after,
    "copying": listed,
    "back": places_back,
    "agreement": subject,
    "brackets": opened,
}


@pytest.mark.parametrize("kind", BY_WORDS)
def test_the_words_alone_tell_where_a_head_has_to_look(kind):
    found = 0
    for texts in SCORES[kind].texts(6, seed=3):
        for row, query, key in torch.stack(deciding(texts), -1).tolist():
            words = [one.word for one in texts[row]]
            assert key == BY_WORDS[kind](words, query), " ".join(words)
            found += 1
    assert found > 6 * len(TASKS[SCORES[kind].task].loads) / 2


def test_a_thing_looks_to_its_name_where_their_pair_is_new():
    for texts in SCORES["previous"].texts(6, seed=3):
        places = torch.stack(binding(texts), -1).tolist()
        for row, query, key in places:
            words = [one.word for one in texts[row]]
            assert words[key] in NAMES
            assert (key, query) == (query - 1, words.index(words[query]))
        things = [{one.word for one in text if one.word in THINGS} for text in texts]
        assert len(places) == len({(row, query) for row, query, _ in places})
        assert len(places) == sum(map(len, things))


def test_entries_of_maps_are_read_where_they_stand():
    maps = np.random.default_rng(0).random((2, 3, 4, 5, 5))  # layers, batch, heads, t, s
    blocks = [SimpleNamespace(attention=SimpleNamespace(attention=torch.tensor(m))) for m in maps]
    entries = [(0, 4, 1), (2, 3, 3), (1, 2, 0)]
    found = looks(SimpleNamespace(blocks=blocks), Places(*torch.tensor(entries).T))
    assert found.shape == (2, 4, 3)
    for n, (row, query, key) in enumerate(entries):
        assert np.array_equal(found[:, :, n].numpy(), maps[:, row, :, query, key])


def test_a_head_has_the_name_of_its_highest_score_from_the_threshold_on():
    table = torch.tensor([[[0.2, 0.5], [0.9, 0.6]], [[0.49, 0.3], [0.0, 0.0]]])
    scores = HeadScores(kinds=("previous", "induction"), table=table, even=torch.zeros(2))
    assert scores.names() == (("induction", "previous"), (None, None))
    assert scores.names(threshold=0.4) == (("induction", "previous"), ("previous", None))


def test_scores_of_one_task_are_read_off_the_same_runs():
    model = of_words(GQA)
    together = head_scores(model, count=2, kinds=["induction", "brackets", "previous"])
    for place, kind in enumerate(together.kinds):
        alone = head_scores(model, count=2, kinds=[kind])
        assert torch.equal(together.table[..., place], alone.table[..., 0])
        assert together.even[place] == alone.even[0]


def test_a_score_is_the_mean_over_all_entries_of_all_loads():
    model, entries, even = of_words(GQA), [], []
    for load in TASKS["brackets"].loads:
        for text in exercises("brackets", load, 3, seed=5):
            words = [one.word for one in text]
            trace = model(tokens_of(model, text))
            maps = np.stack([block.attention.attention[0].numpy() for block in trace.blocks])
            closed = [place for place, word in enumerate(words) if word in OPENING.values()]
            entries += [maps[:, :, place - 1, opened(words, place - 1)] for place in closed]
            even += [1 / len(words[:place]) for place in closed]  # the word before sees so many
    found = head_scores(model, count=3, seed=5, kinds=["brackets"])
    assert found.table.shape == (2, 4, 1)
    assert found.table[..., 0].numpy() == pytest.approx(np.mean(entries, axis=0), rel=1e-10)
    assert found.even.numpy() == pytest.approx([np.mean(even)], rel=1e-10)


def test_what_there_is_not_is_refused():
    with refusing("choice", name="kind", value="odd"):
        head_scores(of_words(GQA), kinds=["odd"])
    with pytest.raises(ValueError, match=r"count \(0\)"):
        head_scores(of_words(GQA), count=0)
