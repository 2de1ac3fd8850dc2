"""A model of the reader's own for every page: by the name of a repository, or by a config.json."""

from mla_engine import PRESETS
from mla_engine.checkpoints.json_object import parse_json
from mla_engine.checkpoints.names import CONFIG, MOST_CONFIG_BYTES
from mla_engine.checkpoints.own_preset import preset_of_config
from mla_engine.model_caches import UncountedError
from ui.engine import model_cache
from ui.settings.parsers import OF_PRESETS, check_shown

NAMED = "_name_or_path"  # where transformers writes what a config.json was loaded from


def key_of(name: str, data: bytes) -> str:
    """The key of the preset that a config.json stands for, or else a repository or stored name.

    Raises:
        ValueError: nothing of that name, no config.json, a key that is missing or wrong, a model
            that no page shows.
    """
    if not data and name in PRESETS:
        return name
    if len(data) > MOST_CONFIG_BYTES:
        raise UncountedError("long_config", most=MOST_CONFIG_BYTES)
    config = parse_json(data, CONFIG) if data else model_cache.config_of(name)
    called = str(config.get(NAMED) or "") if data else name
    own = called.rstrip("/").rsplit("/", 1)[-1]
    found = preset_of_config(config, own, OF_PRESETS)
    check_shown(found)
    return found.key
