"""The chart of caches that grow, as four topics draw it."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from mla_engine.figures import Role, cache_growth
from ui.pages.kv_cache.view import View
from ui.parts.charts import Drawing
from ui.parts.figure_words import growth_words


def growth(
    view: View,
    places: Sequence[int],
    curves: Mapping[str, np.ndarray],
    *,
    roles: Sequence[Role],
    limits: tuple[float, float],
    at: int,
    points: Mapping[str, tuple[Sequence[int], Sequence[int]]] | None = None,
    axes: Mapping[str, str] | None = None,
    **options: object,
) -> Drawing:
    """Bytes of every curve over the context or the number of GPUs, in the chosen unit.

    `axes` names those that are not the context and the cache; `options` are of `cache_growth`.
    """
    return partial(
        cache_growth,
        places,
        curves,
        roles=roles,
        points=points,
        log=view.log,
        unit=view.unit,
        limits=limits,
        at=at,
        words=growth_words() | dict(axes or {}),
        **options,
    )
