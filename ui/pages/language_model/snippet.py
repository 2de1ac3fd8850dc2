"""The snippet of the page language_model."""

from ui import ROOT
from ui.engine import trained
from ui.pages.language_model.view import View
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template that runs the text through the model's file."""
    file = trained.file(view.trained.code)
    path = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    values = {"file": path.as_posix(), "text": view.text, "temperature": view.temperature}
    return "next_word", values
