"""The snippet of the page language_model."""

from ui.engine import trained
from ui.pages.language_model.view import View
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template that runs the text through the model's file, named from the project's folder."""
    file = f"{trained.NAMED}/{trained.file(view.trained.code).name}"
    return "next_word", {"file": file, "text": view.text, "temperature": view.temperature}
