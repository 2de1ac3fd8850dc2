"""The texts that a conversion is fitted to, and what enters the layer when its model reads them."""

from dataclasses import replace
from pathlib import Path

import torch

from mla_engine.budget import MemoryBudgetError
from mla_engine.checkpoints import CheckpointError, HiddenStates
from ui.engine.device import DEVICE
from ui.pages.compression import answers
from ui.pages.compression.source import Source
from ui.sources import Checkpoint, Trained, checkpoint

TEXT = Path(__file__).with_name("fitted_to.txt").read_text("utf-8").strip()
NOISE = 0.01  # of the inputs' power: it decides where the text leaves directions out


def tokens(source: Source) -> int:
    """Count the tokens of TEXT to which a real layer is fitted; 0 where it cannot be."""
    read = _read(source)
    return len(read.tokens) if read else 0


def fitted(source: Source) -> bool:
    """Tell whether there are texts to fit a layer to: else the weights alone decide."""
    return isinstance(source.origin, Trained) or bool(tokens(source))


def inputs(source: Source) -> torch.Tensor | None:
    """Return the hidden states to fit a layer to [b,n,d]; None where the weights alone decide.

    Those of a real layer have white noise after them.
    """
    if isinstance(source.origin, Trained):
        return answers.entering(source.origin)
    read = _read(source)
    if read is None:
        return None
    h = read.h.to(DEVICE, torch.float32)
    noise = (NOISE * h.square().sum() / h.shape[-1]).sqrt()
    return torch.cat((h, noise * torch.eye(h.shape[-1], device=DEVICE)[None]), dim=1)


def _read(source: Source) -> HiddenStates | None:
    """Return what enters a real layer at TEXT; None where the model cannot be run up to it."""
    if not isinstance(source.origin, Checkpoint) or source.inputs.activations:
        return None
    try:
        return checkpoint.inputs(replace(source.inputs, text=TEXT))
    except (CheckpointError, MemoryBudgetError):
        return None
