"""Configurations as transformers fills them in and saves them again: every count stays the same."""

import re
from copy import deepcopy

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from kvcount import MODELS, UncountedError, read
from kvcount.reading.model_types import TEXT
from kvcount.refusals import RefusedError
from tests.kvcount.test_guard import MISSING, OF_CLASSES
from tests.sampling import some

OTHERS = {  # stored models that their class does not load as they are
    "ling-2.5-1t": "it takes every linear layer for one of Ling 3, with convolutions",
    "ling-2.6-flash": "likewise",
    "mimo-v2-flash": "it counts a query beside the tokens of its window",
    "qwen3.8-flash-next": "it needs keys of n-grams that keep nothing",
    "k-exaone-236b-a23b": "it takes a pattern for a number",
}
LOADED = [
    key
    for key, one in MODELS.items()
    if one.row.get("config", {}).get("model_type") in CONFIG_MAPPING and key not in OTHERS
]


def saved(model_type: str, config: dict) -> dict:
    """Return a configuration as its class loads (some change what they are given) and saves it."""
    own = deepcopy({key: value for key, value in config.items() if key != "model_type"})
    kind = CONFIG_MAPPING[model_type]
    if "text_config" in kind.sub_configs:
        own = {"text_config": own}
    return kind(**own).to_dict() | {"model_type": model_type}


@pytest.mark.parametrize("key", some(LOADED, 40))
def test_a_stored_model_is_counted_as_before_when_it_is_saved_again(key: str):
    config = dict(MODELS[key].config)
    assert read(saved(config["model_type"], config)).layers == read(config).layers


TELLING = re.compile(
    r"head|hidden_size|layer|window|position|kv|index|linear|mamba|state|conv|attn"
)
WIDER = ({}, {"hidden_size": 2}, {"hidden_size": 2, "num_attention_heads": 2})


OF_TEXT = [name for name in OF_CLASSES if not set(TEXT) & set(CONFIG_MAPPING[name].sub_configs)]


@pytest.mark.parametrize("model_type", some(OF_TEXT, 25))
def test_a_key_that_is_left_out_is_what_its_class_takes_for_it_or_refused(model_type: str):
    """Each key is dropped by itself, at the sizes of the class and at larger ones."""
    whole = _whole(model_type)
    for more in WIDER:
        wider = whole | {key: whole[key] * n for key, n in more.items() if whole.get(key)}
        for key in filter(TELLING.search, set(wider) - {"model_type"}):
            _try({name: value for name, value in wider.items() if name != key}, model_type, key)


def _whole(model_type: str) -> dict:
    """Return the configuration of a class, with the keys that it leaves to the file."""
    config, missing = CONFIG_MAPPING[model_type]().to_dict(), dict(MISSING)
    while True:
        try:
            read(config)
        except UncountedError as refused:
            config[refused.values["key"]] = missing.pop(refused.values["key"])
        else:
            return config


def _try(config: dict, model_type: str, key: str) -> None:
    try:
        found = read(config).layers
    except RefusedError:
        return
    try:
        wanted = read(saved(model_type, config)).layers
    except (StrictDataclassError, TypeError, ValueError, ZeroDivisionError):  # by its class
        return
    assert found == wanted, key
