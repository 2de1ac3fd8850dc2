"""A model of each point: what enters its layers at the calibration's texts, kept once found."""

from functools import cache
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from mla_engine.language_model import LanguageModel
from mla_engine.language_model.moments import WEIGHINGS, mixed, moments
from mla_engine.language_model.real import RealModel
from mla_engine.language_model.retrofit import IntoMLA, Retrofit, averaged
from training.real.plan import CALIBRATED, ROTARY, Point, pieces

FOLDER = Path("build") / "real"


def calibrated(model: RealModel, kind: str, folder: Path = FOLDER) -> dict[str, Tensor]:
    """Return the moments [layers,d,d] of what enters each layer at a kind of text, by weighing.

    They are read where they were found before.
    """
    file = folder / f"moments-{kind}-{CALIBRATED}.safetensors"
    if not file.exists():
        every = pieces(model, "calibration", kind, CALIBRATED).unsqueeze(1)
        found = moments(model, every, WEIGHINGS)
        folder.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        save_file({name: one.float() for name, one in found.items()}, part)
        part.rename(file)
    return load_file(file)


class Fits:
    """The models of all points that one model becomes."""

    def __init__(self, model: RealModel, folder: Path = FOLDER) -> None:
        self.model = model
        self._calibrated = cache(lambda kind: calibrated(model, kind, folder))
        self._found = cache(self._fitted)

    def made(self, point: Point) -> LanguageModel:
        """Return the model of a point."""
        if point.way == "whole":
            return self.model
        if point.way == "averaged":
            return averaged(self.model)
        absorbable = point.way == "absorbable"
        found = self._found(absorbable, point.fitted_to, point.weighing)
        return found.cut(point.cached - ROTARY * absorbable)

    def _fitted(
        self, absorbable: bool, kinds: tuple[str, ...], weighing: str
    ) -> IntoMLA | Retrofit:
        if not kinds:
            return Retrofit.by_weights(self.model)
        both = mixed([self._calibrated(kind)[weighing].double() for kind in kinds])
        return (IntoMLA if absorbable else Retrofit).by_moments(self.model, both)
