"""What a model of the reader's keeps: one stored here, or by the config.json of a repository."""

from mla_engine.checkpoints.files import REPOSITORY
from mla_engine.model_caches import read
from mla_engine.model_caches.models import named
from mla_engine.model_caches.sources import Found, no_source, of_published
from ui.engine import folders, real_layer, shared_cache
from ui.engine.real_layer import RealLayer
from ui.engine.workers import limits
from ui.engine.workers.access import Place
from ui.engine.workers.pool import ask


@shared_cache.cached(key=lambda name, _: name)
def _config(name: str, _place: Place) -> dict:
    return ask("config", _place, limits.of_looking())


def found(name: str) -> Found:
    """The model of this name: a stored one, a repository, or a folder that may be read.

    Raises:
        RefusedError: nothing of that name, or what is not counted, with the reason.
    """
    if known := named(name):
        return of_published(known)
    return Found(name, read(config_of(name)))


def config_of(name: str) -> dict:
    """The config.json of a repository, or of a folder that may be read.

    Raises:
        RefusedError: nothing of that name, or no config.json.
    """
    if not (REPOSITORY.fullmatch(name) or folders.is_folder(name)):
        raise no_source(name)
    return _config(name, real_layer.place(RealLayer(name, "", 0)))
