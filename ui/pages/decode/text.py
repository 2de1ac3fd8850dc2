"""What is decoded: a prompt and one token after another, in the order in which they come.

A trained model writes them itself, word by word after the sentence that it reads. A real layer
reads its text. Seeded weights read made-up tokens, of which only the number matters.
"""

from ui.engine import trained
from ui.engine.model import Model
from ui.pages.decode.run import ROOM, Words, written
from ui.settings.parsers import MOST_WORDS
from ui.settings.state import settings
from ui.words.text import t

PROMPTS = tuple(2**n for n in range(11))
WRITTEN = 16  # words that a trained model writes: all of them are drawn


def prompts(model: Model) -> tuple[int, ...]:
    """Lengths of a prompt that is no sentence; a real text's leave a token for a step."""
    most = len(model.words) - 1 if model.layer else PROMPTS[-1]
    return tuple(n for n in PROMPTS if n <= max(1, most))


def prompt(model: Model) -> int:
    """Tokens before the first step."""
    return len(model.words) if model.trained is not None else settings()["dec_prompt"]


def room(model: Model) -> int:
    """Steps after the present prompt: a real text ends with its last token."""
    if model.trained is not None:
        return max(1, min(MOST_WORDS - prompt(model), WRITTEN))
    left = len(model.words) - prompt(model) if model.layer else ROOM
    return max(1, min(left, ROOM))


def writers(model: Model) -> dict[str, str]:
    """The variants whose trained models can write, each with what it is set by."""
    found: dict[str, str] = {}
    for variant in model.variants if model.trained is not None else ():
        found.setdefault(model.origin(model.config(variant)).code, variant)
    return found


def writer(model: Model) -> str:
    """The variant whose model writes: that which is chosen; empty without trained models."""
    return model.origin(model.config()).code if model.trained is not None else ""


def words(model: Model) -> Words:
    """The tokens up to the last step: a real text's, words that a model writes, or numbers.

    Raises:
        ValueError: a text that leaves no room for a step, or as `written`.
    """
    if model.layer and len(model.words) < 2:
        raise ValueError(t("decode.too_short"))
    if model.layer:
        return model.words[: prompt(model) + room(model)]
    if model.trained is None:
        return tuple(map(str, range(prompt(model) + ROOM)))
    if len(model.words) >= MOST_WORDS:
        raise ValueError(t("decode.too_long", most=MOST_WORDS))
    code = writer(model)
    return model.words + written(code, trained.load(code).written, model.words, room(model))
