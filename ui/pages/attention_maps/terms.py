"""Where one number of an attention map comes from: products, sum, scale, parts, softmax."""

import math
from dataclasses import dataclass

import numpy as np

from mla_engine.config import AttentionConfig
from ui.parts.maps.columns import reasons
from ui.parts.maps.run import Run
from ui.parts.maps.view import Maps

WRITTEN = 6  # products written out; the rest is summed


@dataclass(frozen=True)
class Part:
    """One dot product: two vectors, what they add up to, and the part of the logit that it is."""

    left_code: str
    right_code: str
    code: str
    left: np.ndarray
    right: np.ndarray
    value: float  # scaled, as the engine has it

    @property
    def products(self) -> np.ndarray:
        """Element by element, float64."""
        return self.left.astype(np.float64) * self.right

    @property
    def dot(self) -> float:
        """Their sum."""
        return float(self.products.sum())

    @property
    def rest(self) -> float:
        """The sum of the products that are not written out."""
        return float(self.products[WRITTEN:].sum())


@dataclass(frozen=True)
class Terms:
    """One cell's way from the vectors to the probability; `cap` is None without a soft cap."""

    parts: tuple[Part, ...]
    scale: float
    cap: float | None
    logit: float
    visible: bool
    window: int | None  # of the sliding window that hides it, if one does
    topk: int | None  # keys that an indexer chose in its place, if one did
    peak: float  # the largest logit that the query sees
    total: float  # the sum of exponentials over the keys that it sees
    n_visible: int
    share: float
    temperature: float

    @property
    def exponential(self) -> float:
        """The cell's own exponential; nothing where it is masked."""
        return math.exp((self.logit - self.peak) / self.temperature) if self.visible else 0.0

    @property
    def before_cap(self) -> float:
        """The logit as the scaled dot product alone."""
        return self.scale * self.parts[0].dot if self.cap else self.logit


def terms(maps: Maps) -> Terms:
    """Follow the chosen cell of the chosen head."""
    config, seen, cell = maps.run.config, maps.mask[maps.query], (maps.query, maps.key)
    logits = maps.run.logits[maps.place, maps.query].astype(np.float64)
    peak = float(logits[seen].max())
    why = next((why for why, cells in reasons(maps.run, maps.mask).items() if cells[cell]), "")
    return Terms(
        parts=_parts(maps.run, maps.head, maps.query, maps.key),
        scale=config.scale,
        cap=getattr(config, "logit_softcap", None),
        logit=float(logits[maps.key]),
        visible=bool(seen[maps.key]),
        window=getattr(config, _window(config)) if why == "outside" else None,
        topk=config.index_topk if why == "not_chosen" else None,
        peak=peak,
        total=float(np.exp((logits[seen] - peak) / maps.temperature).sum()),
        n_visible=int(seen.sum()),
        share=maps.share,
        temperature=maps.temperature,
    )


def _window(config: AttentionConfig) -> str:
    """What the length of its window is called."""
    return "window" if hasattr(config, "window") else "sliding_window"


def _parts(run: Run, head: int, query: int, key: int) -> tuple[Part, ...]:
    place = run.heads.index(head)
    return tuple(
        Part(
            left,
            right,
            code,
            run.matrix(left, head)[query],
            run.matrix(right, head)[at],
            float((run.logits if code == "scores" else run.tensors[code][0])[place, query, at]),
        )
        for code, (left, right), at in _products(run, key)
    )


def _products(run: Run, key: int) -> list[tuple[str, tuple[str, str], int]]:
    """Each part of a column's logit, the codes of query and key, and the key's place in its own.

    A word and an entry have one of their own each, and a sink has none.
    """
    if not run.sinks:
        return [(code, pair, key) for code, pair in run.scores.items()]
    entry = key - len(run.words)
    if entry < 0:
        return [("scores_T", run.scores["scores_T"], key)]
    return [("scores_E", run.scores["scores_E"], entry)] if entry < run.entries else []
