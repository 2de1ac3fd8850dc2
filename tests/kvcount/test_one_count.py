"""One count: an attention that runs and a config.json that is read keep the same, to the byte."""

from contextlib import suppress

import pytest

from kvcount import MODELS, Placing, Storage, read
from kvcount.refusals import RefusedError
from mla_engine import PRESETS, costs
from mla_engine.checkpoints.own_preset import preset_of_config
from tests.checkpoints.models import MODELS as SMALL
from tests.checkpoints.models import own_config

LENGTHS = 1, 100, 127, 128, 129, 5000, 131_071, 131_072
BF16 = Storage()


def own_presets():
    """The stored models whose layers run, too, each as a reader's own of its config.json."""
    for key, one in MODELS.items():
        with suppress(ValueError):  # only counted
            yield key, preset_of_config(one.config, key)


OWN = dict(own_presets())


def of_kinds(preset, tokens):
    return sum(n * costs.held_bytes(config, tokens, 2) for config, n in preset.kinds)


@pytest.mark.parametrize("key", PRESETS)
def test_a_presets_layers_keep_what_its_config_json_says(key):
    counted = Placing(model=MODELS[key].model(), storage=BF16)
    assert PRESETS[key].model == counted.model
    for tokens in LENGTHS:
        assert of_kinds(PRESETS[key], tokens) == counted.held_bytes(tokens), tokens


@pytest.mark.parametrize("key", OWN)
def test_a_readers_own_model_keeps_what_its_config_json_says(key):
    counted = Placing(model=MODELS[key].model(), storage=BF16)
    for tokens in LENGTHS:
        assert of_kinds(OWN[key], tokens) == counted.held_bytes(tokens), tokens


def test_most_stored_models_whose_layers_run_are_compared():
    assert len(OWN) > 30


@pytest.mark.parametrize("name", SMALL)
def test_a_key_that_is_left_out_is_the_same_for_both(name):
    whole, compared = own_config(name), 0
    for key in whole:
        config = {other: value for other, value in whole.items() if other != key}
        with suppress(RefusedError):
            counted, preset = read(config), preset_of_config(config, name)
            for tokens in LENGTHS:
                held = Placing(model=counted, storage=BF16).held_bytes(tokens)
                assert of_kinds(preset, tokens) == held, (key, tokens)
            compared += 1
    assert compared > 3
