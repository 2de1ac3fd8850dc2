"""The small real model with MLA, which is made of it: where it lies, and what enters its layers."""

from pathlib import Path

import torch

from mla_engine.checkpoints import CheckpointError, HiddenStates, real_mla
from mla_engine.checkpoints.tokens import cut
from mla_engine.language_model.reading import by_turns
from mla_engine.language_model.real import RealModel, load_real
from ui.engine import queue, shared_cache
from ui.engine.folders import is_folder
from ui.settings import state
from ui.settings.server import server
from ui.settings.visit import once_per_run

MOST_TOKENS = 512
NAMES = str(real_mla.FOLDER), real_mla.FOLDER.name


def folder() -> Path:
    """Return its place: in the first of the folders that visitors may read."""
    return server().model_folders[0] / real_mla.FOLDER.name


@once_per_run
def source() -> str:
    """Return how links name it: in the app's models/ or in another folder; "" where it is not."""
    return next(filter(is_folder, NAMES), "")


def reads() -> bool:
    """Tell whether it reads on this page."""
    return state.source() in NAMES


def inputs(folder: Path, text: str, number: int) -> HiddenStates:
    """Return what enters the attention of a layer; the model is run here, since it was made here.

    Raises:
        CheckpointError, MemoryBudgetError, FullError: a damaged folder, a text that is too long.
    """
    with queue.turn():
        model = _model(folder)
        found = cut(model.config.tokenizer, text)
        if len(found.ids) > MOST_TOKENS:
            raise CheckpointError("text_tokens", given=len(found.ids), most=MOST_TOKENS)
        x = _stream(folder, found.ids)[number]
    return HiddenStates(
        h=model.blocks[number].before_attention(x),
        ids=found.ids,
        tokens=found.tokens,
        positions=tuple(range(len(found.ids))),
        origin="prefix" if number else "embedding",
    )


@shared_cache.cached
def _model(folder: Path) -> RealModel:
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return load_real(folder)


@shared_cache.cached
def _stream(folder: Path, ids: tuple[int, ...]) -> torch.Tensor:
    with torch.no_grad():
        return torch.stack([trace.x for trace in by_turns(_model(folder), torch.tensor([ids]))])
