"""A decoder at work: from a sentence through every layer to the next word."""

from ui.frame import page
from ui.pages.language_model import PAGE, made_up
from ui.pages.language_model.real import scene
from ui.pages.language_model.view import reads_real

with page.frame(PAGE) as frame:
    frame.view = scene.scene() if reads_real() else made_up.scene()
