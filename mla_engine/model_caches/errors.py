"""The refusals of this package."""

from mla_engine.refusals import RefusedError


class UncountedError(RefusedError):
    """A cache that is not counted, in one sentence with what was found and what to do."""

    section = "model_cache"
