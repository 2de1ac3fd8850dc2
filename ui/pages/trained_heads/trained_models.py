"""The trained models that there are: a file a variant, and snapshots of some trainings."""

import json
from dataclasses import dataclass
from pathlib import Path

from mla_engine.language_model import LanguageModel, load_model
from ui.engine import trained

FOLDER = trained.FOLDER


@dataclass(frozen=True)
class Trained:
    """A file, and when it was written, so that what is kept of it goes with its content."""

    path: str
    written: int

    def load(self) -> LanguageModel:
        """The model.

        Raises:
            CheckpointError: a file that is none.
        """
        return load_model(self.path)[0]


def variants(known: tuple[str, ...]) -> list[str]:
    """Those of the known variants whose models are there."""
    return [code for code in known if _finished(code).is_file()]


def steps(variant: str) -> list[int]:
    """The steps of the training that have a snapshot, none if it was not watched."""
    found = (FOLDER / "snapshots" / variant).glob("*.safetensors")
    return sorted(int(file.stem) for file in found if file.stem.isdigit())


def of_step(variant: str, step: int) -> Trained:
    """The snapshot of a step; the finished model below 0."""
    name = next(
        (f for f in (FOLDER / "snapshots" / variant).glob("*.safetensors") if int(f.stem) == step),
        _finished(variant),
    )
    return Trained(str(name), name.stat().st_mtime_ns)


def losses(variant: str) -> dict[int, float]:
    """Step -> the loss of the training's first run, as far as it was measured."""
    file = FOLDER / "study" / f"{variant}-0.json"
    if not file.is_file():
        return {}
    curve = json.loads(file.read_text("utf-8"))["curve"]
    return {point["step"]: point["loss"] for point in curve if point["loss"] is not None}


def _finished(variant: str) -> Path:
    return FOLDER / f"{variant}.safetensors"
