"""Two hundred damaged configurations: each is refused in one sentence, or counted as it stands."""

import copy
import random
from fractions import Fraction

import pytest

from kvcount import MODELS, Storage, bytes_per_token, read
from kvcount.command import REFUSED
from kvcount.refusals import RefusedError
from kvcount.tests import published
from tests.kvcount.tiny import TINY, config_of

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
def test_a_damaged_configuration(seed: int, cache):
    config = damaged(seed)
    said = cache(config, "--json", "--gpus", "8")
    if said.status == REFUSED:
        assert said.refusal.startswith("kvcount cache: ")
        return
    assert said.found["layers"] == len(read(config).layers)
    assert said.found["stored_bytes_per_token"] == pytest.approx(_bytes(config), rel=1e-12)


GUESSED = {  # what the types themselves make of a key that is missing
    "head_dim", "num_key_value_heads", "sliding_window", "use_sliding_window", "layer_types",
    "sliding_window_pattern", "num_global_key_value_heads", "index_topk_pattern", "indexer_types",
    "layer_group_size", "kv_source_layers", "index_topk_freq", "compress_ratios",
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


DEEP = (
    -(10**30), 2**40, 1e308, [-1], [10**30], [{}], [1.5], ["nonsense"] * 64, {"a": {"b": []}},
    ["0"] * 40, "M*-E" * 8,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(100))
def test_a_wrong_value_deep_inside(seed: int):
    draw = random.Random(seed)
    config = inner = copy.deepcopy(draw.choice(WHOLE))
    key = draw.choice(sorted(inner))
    while isinstance(inner[key], dict | list) and inner[key] and draw.random() < 0.8:
        inner = inner[key]
        key = draw.choice(sorted(inner) if isinstance(inner, dict) else range(len(inner)))
    inner[key] = copy.deepcopy(draw.choice(DEEP))
    try:
        layers = read(config).layers
    except RefusedError as error:
        said = str(error)
        assert 0 < len(said) < 1000
        assert "\n" not in said
    else:
        assert sum(bytes_per_token(layer, Storage()) for layer in layers) >= 0
