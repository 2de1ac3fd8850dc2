"""The tokens that are decoded: a prompt, and one after another behind it.

A trained model writes them itself, word by word after the sentence that it reads. A real layer
reads its text. Seeded weights read made-up tokens, of which only the number matters.
"""

from ui.engine import trained
from ui.engine.model import Model
from ui.pages.decode.run import ROOM, Words, written
from ui.settings.parsers import MOST_WORDS
from ui.words.text import t

PROMPTS = tuple(2**n for n in range(11))
WRITTEN = 16  # words that a trained model writes: all of them are drawn


def prompts(model: Model) -> tuple[int, ...]:
    """Lengths of a prompt that is no sentence; a real text's leave a token for a step."""
    most = len(model.words) - 1 if model.layer else PROMPTS[-1]
    return tuple(n for n in PROMPTS if n <= max(1, most))


def room(model: Model, prompt: int) -> int:
    """Steps after a prompt of so many tokens: a real text ends with its last token."""
    if model.trained is not None:
        return max(1, min(MOST_WORDS - prompt, WRITTEN))
    left = len(model.words) - prompt if model.layer else ROOM
    return max(1, min(left, ROOM))


def writers(model: Model) -> dict[str, str]:
    """The variants whose trained models can write, each with what it is set by."""
    found: dict[str, str] = {}
    for variant in model.variants if model.trained is not None else ():
        if not isinstance(origin := model.origin(model.config(variant)), int):
            found.setdefault(origin.code, variant)
    return found


def writer(model: Model) -> str:
    """The variant whose model writes: that which is chosen; empty without trained models."""
    return model.origin(model.config()).code if model.trained is not None else ""


def words(model: Model, prompt: int) -> Words:
    """The tokens up to the last step: a real text's, words that a model writes, or numbers.

    Raises:
        ValueError: a text that leaves no room for a step, or as `written`.
    """
    if model.layer and len(model.words) < 2:
        raise ValueError(t("decode.too_short"))
    if model.layer:
        return model.words[: prompt + room(model, prompt)]
    if model.trained is None:
        return tuple(map(str, range(prompt + ROOM)))
    if len(model.words) >= MOST_WORDS:
        raise ValueError(t("decode.too_long", most=MOST_WORDS))
    code, steps = writer(model), room(model, prompt)
    return model.words + written(code, trained.load(code).written, model.words, steps)
