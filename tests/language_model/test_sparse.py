"""Keys by rules: the indexer's is the engine's own, and the others are found by sorting by hand."""

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
import torch

from kvcount.refusals import RefusedError
from mla_engine.indexed import IndexedConfig
from mla_engine.language_model import LanguageModel
from mla_engine.language_model.questions import Questions
from mla_engine.language_model.sparse import RULES, Sparse, answered, with_topk
from mla_engine.language_model.texts import LENGTH, TASKS, WORDS
from tests.language_model.samples import GQA, MLA, model, text

DSA = IndexedConfig(**vars(MLA), n_index_heads=3, d_index=6, index_topk=2)
KEYS = 3


def dsa(keys: int = 2) -> LanguageModel:
    return model(replace(DSA, index_topk=keys))


def dense() -> LanguageModel:
    """The MLA of the same weights, which has no indexer."""
    made, known = model(MLA), dsa().state_dict()
    made.load_state_dict({name: known[name] for name in made.state_dict()})
    return made


def by_hand(rule: str, run: object, layer: int, row: int, query: int) -> set[int]:
    """The keys of the highest numbers, sorted by numpy; `run` is of all keys."""
    block = run.blocks[layer].attention
    numbers = {
        "heads": block.attention[row, :, query].sum(0),
        "indexer": block.index[row, query],
        "latest": torch.arange(block.mask.shape[1]),
    }[rule]
    seen = numbers[: query + 1].double().numpy()
    return set(np.argsort(-seen, kind="stable")[:KEYS].tolist())


@torch.no_grad()
@pytest.mark.parametrize("keys", [1, 2, 5, 7])
def test_the_indexers_rule_is_what_the_layers_do_by_themselves(keys):
    found, wanted = Sparse(dsa(), keys)(text()), dsa(keys)(text())
    torch.testing.assert_close(found.logits, wanted.logits, rtol=1e-12, atol=1e-12)
    for one, other in zip(found.blocks, wanted.blocks, strict=True):
        assert torch.equal(one.attention.chosen, other.attention.chosen)
        for name in ("left_out", "attention", "o", "u"):
            torch.testing.assert_close(
                getattr(one.attention, name), getattr(other.attention, name), rtol=1e-12, atol=1e-12
            )


@torch.no_grad()
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "chance"])
def test_a_rule_reads_the_keys_of_its_highest_numbers(rule):
    run = Sparse(dsa(), KEYS, rule)(text())
    whole = Sparse(dsa(), text().shape[1], rule)
    attended = whole(text()).blocks[0].attention  # the first layer reads the same in every run
    for row in range(2):
        for query in range(text().shape[1]):
            chosen = run.blocks[0].attention.chosen[row, query].nonzero().flatten().tolist()
            assert set(chosen) == by_hand(rule, whole(text()), 0, row, query)
            lost = [key for key in range(query + 1) if key not in chosen]
            wanted = attended.attention[row, :, query, lost].sum(-1)
            found = run.blocks[0].attention.left_out[row, :, query]
            torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("rule", RULES)
def test_with_all_keys_every_rule_is_the_dense_model(rule):
    found = Sparse(dsa(), text().shape[1], rule)(text()).logits
    torch.testing.assert_close(found, dense()(text()).logits, rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_chance_draws_so_many_keys_the_same_in_every_run_and_others_in_every_layer():
    long = text(batch=1, length=16)
    run = Sparse(dsa(), KEYS, "chance")
    first, second = (block.attention.chosen[0] for block in run(long).blocks)
    assert first.sum(-1).tolist() == [min(KEYS, query + 1) for query in range(16)]
    assert not first.triu(1).any()
    assert not torch.equal(first, second)
    assert torch.equal(first, run(long).blocks[0].attention.chosen[0])
    draws = Sparse(dsa(), 1, "chance")(text(batch=400, length=8)).blocks[0].attention.chosen
    assert draws[:, 7].double().mean(0).sub(1 / 8).abs().max() < 0.06


@torch.no_grad()
def test_answers_are_counted_one_by_one():
    asked = Questions.drawn(WORDS, 1, 3)
    made = LanguageModel(replace(dsa().config, words=WORDS, max_context=LENGTH), seed=1)
    run, of_task, lost = Sparse(made, KEYS)(asked.tokens), {}, [[], []]
    tasks = [(task, load) for task in TASKS.values() for load in task.loads]
    for row, place, answer in zip(asked.row, asked.place, asked.answer, strict=True):
        given = int(run.logits[row, place].argmax()) == int(answer)
        of_task.setdefault((tasks[row][0].name, tasks[row][1]), []).append(given)
        for layer, block in enumerate(run.blocks):
            lost[layer].append(block.attention.left_out[row, :, place].mean().item())
    found = answered(Sparse(made, KEYS), asked)
    every = [given for some in of_task.values() for given in some]
    assert 0 < found.right == pytest.approx(fmean(every))
    for task in TASKS.values():
        shares = [fmean(some) for (name, _), some in of_task.items() if name == task.name]
        assert found.by_task[task.name] == pytest.approx(fmean(shares))
    assert found.left_out == pytest.approx([fmean(layer) for layer in lost], rel=1e-5)
    own = answered(with_topk(made, KEYS), asked)
    assert (own.right, own.by_task) == (found.right, found.by_task)


def test_the_weights_are_the_first_models_own():
    first = dsa()
    for other in (with_topk(first, 5), Sparse(first, 5)):
        for name, weight in other.named_parameters():
            assert weight.data_ptr() == first.get_parameter(name).data_ptr(), name


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sparse(model(GQA), 2), "IndexedConfig"),
        (lambda: with_topk(model(MLA), 2), "IndexedConfig"),
        (lambda: Sparse(dsa(), 0), "keys"),
        (lambda: Sparse(dsa(), 2, "first"), "rule"),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(RefusedError, match=said):
        make()
