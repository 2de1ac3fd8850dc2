"""Two hundred damaged configurations: each is refused in one sentence, or counted as it stands."""

import copy
import json
import random
from fractions import Fraction

import pytest

from mla_engine.command import REFUSED, main
from mla_engine.model_caches import MODELS, Storage, bytes_per_token, read
from mla_engine.refusals import RefusedError
from tests.model_caches import published
from tests.model_caches.tiny import TINY, config_of

WHOLE = [config_of(model_type) for model_type in TINY]
WHOLE += [
    value for value in vars(published).values() if isinstance(value, dict) and "model_type" in value
]
WHOLE += [dict(one.row["config"]) for one in MODELS.values() if "config" in one.row]
VALUES = (
    None, True, False, 0, -1, 1, 3, 10**9, 10**400, 1.5, float("nan"), float("inf"), "", "8",
    "full", "\u202e", [], [1], ["full_attention"] * 3, [None], [[]], [True], {}, {"head_dim": "x"},
)  # fmt: skip


def damaged(seed: int) -> dict:
    """A configuration with one to three of its keys taken out, renamed or given another value."""
    draw = random.Random(seed)
    config = copy.deepcopy(draw.choice(WHOLE))
    for _ in range(draw.randint(1, 3)):
        inner = config
        while (below := [value for value in inner.values() if isinstance(value, dict)]) and (
            draw.random() < 0.5
        ):
            inner = draw.choice(below)
        if not inner:
            continue
        key = draw.choice(sorted(inner))
        match draw.randrange(3):
            case 0:
                del inner[key]
            case 1:
                inner[f"{key}_"] = inner.pop(key)
            case _:
                inner[key] = copy.deepcopy(draw.choice(VALUES))
    return config


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_configuration(seed: int, tmp_path, capsys):
    config = damaged(seed)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config), "utf-8")
    status = main(["cache", str(file), "--json", "--gpus", "8"])
    out, error = capsys.readouterr()
    if status == REFUSED:
        assert out == ""
        assert error.startswith("mla cache: ")
        assert error.count("\n") == 1
        assert len(error) < 1000
        return
    found = json.loads(out)
    layers = read(config).layers
    expected = sum(bytes_per_token(layer, Storage()) for layer in layers)
    assert (status, error) == (0, "")
    assert found["layers"] == len(layers)
    assert Fraction(found["stored_bytes_per_token"]) == pytest.approx(expected, rel=1e-12)


GUESSED = {  # what the types themselves make of a key that is missing
    "head_dim", "num_key_value_heads", "sliding_window", "use_sliding_window", "layer_types",
    "sliding_window_pattern", "num_global_key_value_heads", "index_topk_pattern", "indexer_types",
    "layer_group_size", "kv_source_layers", "index_topk_freq",
}  # fmt: skip


@pytest.mark.parametrize("config", [config_of(model_type) for model_type in TINY], ids=TINY)
def test_a_key_that_is_taken_out_is_missed_unless_it_says_nothing_of_the_cache(config: dict):
    whole, other = _bytes(config), set()
    for key in config:
        found = _bytes({name: value for name, value in config.items() if name != key})
        if found not in (whole, None):
            other.add(key)
    assert other <= GUESSED


def _bytes(config: dict) -> Fraction | None:
    try:
        return sum(bytes_per_token(layer, Storage()) for layer in read(config).layers)
    except RefusedError:
        return None
