"""A model of the reader's own: by the name of a repository, by a config.json, or of typed sizes."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from kvcount import UncountedError
from kvcount.files.config_json import parse_json
from kvcount.files.folder import CONFIG, MOST_CONFIG_BYTES, REPOSITORY
from kvcount.files.stored_weights import Stored
from kvcount.models import named
from kvcount.sources import Found, no_source, of_config, of_published, of_text
from mla_engine import PRESETS, mechanisms
from mla_engine.checkpoints.own_preset import preset_of_config
from mla_engine.config import AttentionConfig
from mla_engine.given_preset import given_preset, plain
from ui.engine import folders, shared_cache
from ui.engine.workers import limits
from ui.engine.workers.access import Place
from ui.engine.workers.pool import ask
from ui.settings.parsers import OF_PRESETS, check_shown, has_preset, preset_of
from ui.settings.sizes import SMALL_VARIANT, sizes_of, variant_of
from ui.sources import Checkpoint, checkpoint
from ui.sources.model import Model, built

NAMED = "_name_or_path"  # where transformers writes what a config.json was loaded from


@shared_cache.cached(key=lambda name, _: name)
def _config(name: str, _place: Place) -> dict:
    return ask("config", _place, limits.of_looking())


@shared_cache.cached(key=lambda name, _: name)
def _weights(name: str, _place: Place) -> Stored | None:
    return ask("weights", _place, limits.of_looking())


def counted(name: str) -> Found:
    """Return what the model of this name keeps: a stored one, a repository, or a folder.

    Raises:
        RefusedError: nothing of that name, or what is not counted, with the reason.
    """
    if known := named(name):
        return of_published(known)
    return of_config(name, config_of(name))


def weighed(name: str) -> Found:
    """Return what the model of this name keeps, and of a folder the weights that it stores.

    Of a repository config.json alone is read.

    Raises:
        RefusedError: as `counted`, or a file of weights that is damaged.
    """
    found, where = counted(name), Checkpoint(name, "", 0)
    if named(name) or (place := checkpoint.place(where)).folder is None:
        return found
    return found.with_stored(_weights(name.strip(), place))


@shared_cache.cached(key=lambda data: sha256(data).digest())
def counted_file(data: bytes) -> Found:
    """Return what the model of a config.json keeps; a long one is parsed once.

    Raises:
        RefusedError: no config.json, or what is not counted, with the reason.
    """
    return of_text(data)


def config_of(name: str) -> dict:
    """Return the config.json of a repository, or of a folder that may be read.

    Raises:
        RefusedError: nothing of that name, or no config.json.
    """
    name = name.strip()
    if not (REPOSITORY.fullmatch(name) or folders.is_meant(name)):
        raise no_source(name)
    return _config(name, checkpoint.place(Checkpoint(name, "", 0)))


def key_of(name: str, data: bytes) -> str:
    """Return the key of the preset for a config.json, or else for a repository or a stored name.

    Raises:
        ValueError: nothing of that name, no config.json, a key that is missing or wrong, a model
            that no page shows.
    """
    known = None if data or REPOSITORY.fullmatch(name) else named(name)
    if known and known.key in PRESETS:
        return known.key
    if len(data) > MOST_CONFIG_BYTES:
        raise UncountedError("long_config", most=MOST_CONFIG_BYTES)
    config = parse_json(data, CONFIG) if data else config_of(name)
    called = str(config.get(NAMED) or "") if data else name
    own = called.rstrip("/").rsplit("/", 1)[-1]
    found = preset_of_config(config, own, OF_PRESETS)
    check_shown(found)
    return found.key


def key_of_sizes(shown: Model, variant: str) -> str:
    """Return the key of a model with this layer in this variant, whatever sizes are typed later.

    Where nothing that the variant has was changed it is the preset's own.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    wanted, own = shown.config(variant), sizes_of(shown.preset)
    base = shown.base_of(variant)
    if wanted in (base, built(base, own, variant)):
        return shown.preset
    every = map(shown.config, (variant_of(shown.preset), SMALL_VARIANT))
    kept = next((one for one in every if _keeps(one, variant, wanted)), wanted)
    name = _named(shown, variant, own)
    found = given_preset(kept, name=name, **_told(shown.preset, kept))
    check_shown(found)
    return found.key


def _keeps(config: AttentionConfig, variant: str, wanted: AttentionConfig) -> bool:
    """Tell if a preset of this configuration is the wanted one in this variant."""
    return built(config, mechanisms.sizes_of(config), variant) == wanted


def _told(preset: str, kept: AttentionConfig) -> dict[str, Any]:
    """Return what a preset says of its model beside one layer, whose windows others have."""
    if not has_preset(preset):
        return {}
    found = preset_of(preset)
    told = {"n_layers": found.n_layers, "n_caches": found.n_caches or found.n_layers}
    told["beside"] = tuple(
        (replace(kept, sliding_window=one.sliding_window), n)
        for one, n in found.beside
        if one.can_slide and kept.can_slide
    )
    return told | {"max_context": found.max_context, "not_modelled": found.not_modelled}


def _named(shown: Model, variant: str, own: Mapping[str, int]) -> str:
    """Return the preset's name, and behind it as many of the typed sizes as there is room for."""
    name = preset_of(shown.preset).name if has_preset(shown.preset) else shown.preset
    name = " ".join(plain(name).split())
    for size in mechanisms.variants()[variant].sizes:
        longer = f"{name} {size} {shown.sizes[size]}"
        if shown.sizes[size] != own[size] and plain(longer) == longer:
            name = longer
    return name
