"""The models that come with the app: their cards hold on texts that no training and no card saw."""

from pathlib import Path

import pytest

from mla_engine import costs
from mla_engine.language_model import load_model
from mla_engine.language_model.accuracy import answers, exercises
from mla_engine.language_model.texts import TASKS

FOLDER = Path(__file__).parents[2] / "assets" / "trained"
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.safetensors"))
FRESH, TEXTS = 31, 60
MOST_BYTES, MOST_BYTES_OF_ALL = 1_000_000, 8_000_000


@pytest.mark.parametrize("code", SHIPPED)
def test_a_card_is_true_on_fresh_texts(code):
    model, card = load_model(FOLDER / f"{code}.safetensors")
    assert (card["variant"], card["seed"]) == (code, 0)
    assert card["cached"] == costs.cache_elements(model.config.attention)
    assert card["parameters"] == sum(weight.numel() for weight in model.parameters())
    for task in TASKS.values():
        for load in task.loads:
            found = answers(model, exercises(task.name, load, TEXTS, FRESH))
            told, count = card["accuracy"][task.name][str(load)], len(found.given)
            deviation = (max(told * (1 - told), 1 / count) / count) ** 0.5
            assert abs(found.share - told) < 5 * deviation, (task.name, load, found.share, told)


@pytest.mark.parametrize("code", [code for code in SHIPPED if "nope" not in code])
@pytest.mark.parametrize("task", ["recall", "copy", "back"])
def test_a_model_with_rotation_answers_what_is_light(code, task):
    _, card = load_model(FOLDER / f"{code}.safetensors")
    assert card["accuracy"][task][str(TASKS[task].loads[0])] >= 0.95


def test_they_are_small():
    assert {"mha", "gqa", "mqa", "mla"} <= set(SHIPPED)
    sizes = [path.stat().st_size for path in FOLDER.rglob("*.safetensors")]
    assert max(sizes) <= MOST_BYTES
    assert sum(sizes) <= MOST_BYTES_OF_ALL
