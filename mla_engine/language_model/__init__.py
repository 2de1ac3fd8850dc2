"""A small decoder whose attention is any of the engine's, from words to the next word."""

from mla_engine.language_model.config import ModelConfig, WordError
from mla_engine.language_model.generation import Step, chosen, generate
from mla_engine.language_model.model import Block, BlockTrace, LanguageModel, ModelTrace
from mla_engine.language_model.storage import load_model, save_model

__all__ = [
    "Block",
    "BlockTrace",
    "LanguageModel",
    "ModelConfig",
    "ModelTrace",
    "Step",
    "WordError",
    "chosen",
    "generate",
    "load_model",
    "save_model",
]
