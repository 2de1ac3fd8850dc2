"""The study: what is planned and not run, what differs, and damaged files refused by name."""

import json
from pathlib import Path

import pytest

from kvcount.refusals import RefusedError, sentence
from mla_engine.language_model.study import LEAST_SEEDS, Spread, Study, differ, read
from mla_engine.language_model.texts import TASKS
from tests import study_rows as made


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return read(made.write(tmp_path, made.rows(but=("mla_queries",))))


def test_the_rows_of_the_tests_ask_what_the_language_asks():
    assert {task.name: task.loads for task in TASKS.values()} == made.LOADS


def test_what_was_not_run_is_told_by_seed(tmp_path):
    rows = [one for one in made.rows() if (one["variant"], one["seed"]) != ("gqa", 1)]
    rows = [one for one in rows if one["variant"] != "mla_16"]
    study = read(made.write(tmp_path, rows))
    assert study.not_run() == {"gqa": (1,), "mla_16": (0, 1, 2)}
    assert study.measured(made.CACHES) == ["mha", "gqa", "mla_64", "mqa", "mla"]


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ([0.9, 0.8, 0.85], [0.7, 0.79, 0.6], True),
        ([0.7, 0.79, 0.6], [0.9, 0.8, 0.85], True),
        ([0.9, 0.8, 0.85], [0.7, 0.8, 0.6], False),
        ([0.9, 0.8, 0.85], [0.1, 0.2], False),
        ([0.9, 0.8, 0.85], [], False),
    ],
)
def test_a_difference_is_one_where_no_seeds_overlap(one, other, apart):
    assert len(one) == LEAST_SEEDS
    assert differ(Spread.of(one), Spread.of(other)) is apart


def changed(**parts: object) -> str:
    return json.dumps(made.row("mqa", 1) | parts)


DAMAGED = {
    "no JSON": ("{", "JSON"),
    "a list": ("[]", "JSON"),
    "another run's": (changed(seed=2), "variant"),
    "an unknown variant": (changed(variant="mxa"), "variant"),
    "another cache": (changed(cached=33), "cached"),
    "no weights": (changed(parameters="many"), "parameters"),
    "true for a number": (changed(steps=True), "steps"),
    "a task missing": (changed(accuracy={}), "recall"),
    "a load missing": (changed(accuracy={"recall": {"4": 1.0}}), "8"),
    "no share": (changed(accuracy={"recall": {"4": 1.5}}), "4"),
    "not a number": (changed(accuracy={"recall": {"4": float("nan")}}), "4"),
    "a curve that goes back": (
        changed(curve=[{"step": 50, "loss": 1.0}, {"step": 50, "loss": 1.0}]), "curve",
    ),
    "a curve without losses": (changed(curve=[{"step": 0}]), "curve"),
    "a bin of two": (changed(by_distance=[[0, 4]]), "by_distance"),
    "a bin beyond all": (changed(by_distance=[[0, 4, 1.2]]), "by_distance"),
    "no date": (changed(date=None), "date"),
    "endless": (changed(seconds=float("inf")), "seconds"),
    "no seconds": (changed(seconds=-1), "seconds"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "part"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_row_is_refused_by_name_and_the_others_stay(tmp_path, content, part):
    made.write(tmp_path, made.rows())
    (tmp_path / "study" / "mqa-1.json").write_text(content, "utf-8")
    study = read(tmp_path)
    (error,) = study.refused
    assert error.values == {"name": "mqa-1.json", "part": part}
    for lang in ("en", "zh"):
        assert "mqa-1.json" in sentence(error, lang)
        assert "make train" in sentence(error, lang)
    assert [row.seed for row in study.of("mqa")] == [0, 2]
    assert study.not_run() == {"mqa": (1,)}


def test_without_a_plan_it_says_what_to_run(tmp_path):
    with pytest.raises(RefusedError, match="make train"):
        read(tmp_path)
    for wrong in ({"caches": ["mha", "mxa"]}, {"staircase": []}, {"variants": {"mha": {}}}):
        with pytest.raises(RefusedError, match=r"plan\.json"):
            read(made.write(tmp_path, [], made.plan() | wrong))
