"""The falling singular values of keys' and values' weights, together and of each."""

from functools import partial

import numpy as np
import pandas as pd

from mla_engine import figures
from ui.engine import shared_cache
from ui.pages.compression import answers
from ui.pages.compression.source import WAYS, Source, prepared
from ui.pages.compression.view import View
from ui.parts import charts, prose
from ui.sources import layers
from ui.words.numbers import count, in_percent, scientific
from ui.words.text import t

HEIGHT = 380


@shared_cache.cached(anywhere=True)
def spectra(source: Source) -> dict[str, np.ndarray]:
    """Return singular values of both together, of W_K and of W_V.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    one, two = (prepared(source).ways[way] for way in WAYS)
    found = {"both": one.factors, "W_K": two.keys, "W_V": two.values}
    return {name: layers.to_numpy(f.singular_values) for name, f in found.items()}


def spectrum(view: View) -> None:
    """Draw singular values of the stacked weights, and of each by itself."""
    found = spectra(view.source)
    symbols = {"keys": "W<sup>K</sup>", "values": "W<sup>V</sup>"}
    most = len(found["both"])
    figure = partial(
        figures.spectrum,
        {t(f"compression.spectrum_{name}", **symbols): falling for name, falling in found.items()},
        at=view.rank if 0 < view.rank <= most else None,
        at_name=t("compression.kept", rank=count(view.rank)),
        axes=(t("compression.number"), t("compression.singular_value")),
        decades=8 if view.latent else 6,  # down to the rounding beyond a real latent's rank
        height=HEIGHT,
    )
    largest, least = (scientific(found["both"][at], 2) for at in (0, -1))
    charts.show(
        figure,
        "compression:spectrum",
        alt=t("compression.alt_spectrum", largest=largest, least=least),
        data=lambda: pd.DataFrame({name: pd.Series(values) for name, values in found.items()}),
        file="mla_compression_spectra.csv",
        follows=view.follows,
    )
    prose.say(_weights(view, found["both"]))


def _weights(view: View, falling: np.ndarray) -> str:
    """Return what the weights are, and what that means for a latent."""
    if view.latent:
        return t("compression.words_latent", latent=count(view.latent))
    if view.answers:
        return t(
            "compression.words_trained",
            layer=count(view.model.source.layer),
            last=in_percent(float(falling[-1] / falling[0])),
            texts=count(answers.MEASURED),
        )
    if view.trained:
        config = view.source.grouped
        facts = {"heads": count(config.n_heads), "groups": count(config.n_kv_heads)}
        return t("compression.words_grouped", **facts)
    return t(f"compression.words_{'spectrum' if view.weights == 'spectrum' else 'random'}")
