"""Makes MLA of the small real model, teaches it, and measures it; what is finished is kept.

Needs the model (make real-model), and once a network for the novels. The parts lie in build/heal;
the differences and the measurement in assets/real_mla. About 10 minutes on 2 calm cores.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor

from mla_engine.checkpoints import CheckpointError, real_mla, real_model
from mla_engine.language_model import LanguageModel
from mla_engine.language_model.real import RealModel, load_real
from training.heal.convert import Converted, convert
from training.heal.pack import pack
from training.heal.teach import student, teach
from training.real import fit
from training.real.measure import losses
from training.real.plan import KINDS, WEIGHING, Point, pieces
from training.real.texts import TextsError, texts

BUILD, ASSETS = Path("build") / "heal", real_mla.DIFFERENCES.parent
CALIBRATED = 8  # pieces of each kind
LEARNED, LENGTH = 12, 256  # random texts of each kind, and their tokens
MEASURED = 4  # pieces of each kind
CONVERTED = Point("absorbable", 192, KINDS, WEIGHING)
Losses = dict[str, list[float]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Convert, teach, write the differences, and measure."""
    parser = argparse.ArgumentParser(prog="make heal-real", description=__doc__)
    parser.add_argument("--pieces", type=int, default=MEASURED, help="measured, of each kind")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        model = load_real(real_model.FOLDER)
        every = [learned(model, kind) for kind in KINDS]
    except (TextsError, CheckpointError) as error:
        sys.exit(f"Nothing is taught: {error}")
    converted = kept("converted", partial(conversion, model))
    made = kept("taught", partial(lessons, model, converted, torch.cat(every)))
    told = f"layer after layer, on {sum(text.numel() for text in every):,} tokens"
    pack(model, made, converted, told, real_mla.DIFFERENCES)
    rows = measured(model, converted, chosen.pieces)
    write(rows)
    print(f"{won_back(rows):.0%} of the loss of the conversion is won back")


def learned(model: RealModel, kind: str) -> Tensor:
    """Return random texts of a kind out of the training's part [LEARNED,LENGTH]."""
    ids = model.config.tokenizer.encode(texts("training")[kind], add_special_tokens=False).ids
    every = torch.tensor(ids[: len(ids) // LENGTH * LENGTH]).view(-1, LENGTH)
    return every[Random(0).sample(range(len(every)), LEARNED)]


def conversion(model: RealModel) -> Converted:
    """Return the model's layers as MLA, fitted to the calibration's texts."""
    return convert(model, [pieces(model, "calibration", kind, CALIBRATED) for kind in KINDS])


def lessons(model: RealModel, converted: Converted, every: Tensor) -> RealModel:
    """Return the taught model; says each layer's error before its lesson and after."""
    made = student(model, converted)

    def tell(layer: int, before: float, after: float) -> None:
        print(f"layer {layer}: {before:.4f}, then {after:.4f}", flush=True)

    teach(model, made, every, tell)
    return made


def kept(name: str, make: Callable[[], Any]) -> Any:
    """Return what was made before, or make and keep it."""
    file = BUILD / f"{name}.pt"
    if not file.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        torch.save(make(), part)
        part.replace(file)
    return torch.load(file, weights_only=False)  # this command's own


def measured(model: RealModel, converted: Converted, count: int) -> dict[str, Losses]:
    """Return the loss of each piece of the test's texts, read by each of the models."""
    made: dict[str, Callable[[], LanguageModel]] = {
        "original": lambda: model,
        "converted": lambda: fit.Fits(model).made(CONVERTED),
        "chosen": lambda: student(model, converted),  # by `convert`, before it is taught
        "taught": lambda: load_real(real_mla.build()),
    }
    rows = {}
    for name, one in made.items():
        found, rows[name] = one(), {}
        for kind in KINDS:
            rows[name][kind] = losses(found, pieces(model, "test", kind, count))
            print(f"{name}, {kind}: perplexity {perplexity(rows[name][kind]):.2f}", flush=True)
    return rows


def perplexity(found: list[float]) -> float:
    """Return exp of the mean loss."""
    return math.exp(sum(found) / len(found))


def won_back(rows: dict[str, Losses]) -> float:
    """Return the share of the conversion's loss that the taught model does not have.

    Counted in the logarithm of perplexity, both kinds of text alike.
    """
    of = {name: sum(math.log(perplexity(v)) for v in row.values()) for name, row in rows.items()}
    return (of["converted"] - of["taught"]) / (of["converted"] - of["original"])


def write(rows: dict[str, Losses]) -> None:
    """Write what was measured, with the date and the version of torch."""
    about = {"date": datetime.now(UTC).date().isoformat(), "torch": torch.__version__}
    shares = {name: won_back(rows | {"taught": rows[name]}) for name in ("chosen", "taught")}
    text = json.dumps(about | {"won_back": shares, "loss": rows}, indent=1)
    (ASSETS / "measured.json").write_text(text + "\n", "utf-8")
