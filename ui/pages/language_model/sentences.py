"""The texts that the model reads: a reader's own, the page's, or examples with one word missing."""

from random import Random

from mla_engine.language_model import ModelConfig, WordError
from mla_engine.language_model.texts import TASKS, exercise

OWN = "anna lamp ben cup cleo drum dan boat ben"  # the page's: what belongs to ben?
MOST_WORDS, MOST_CHARACTERS = 256, 2000
SHORT = 24  # words of an example: all of them are drawn in a picture that a hall can read
LIGHT = 2  # of a task's loads, from the lightest


def tokens(config: ModelConfig, text: str) -> tuple[int, ...]:
    """The numbers of the words of a text, of the page's own where it is empty.

    Raises:
        WordError: no words, too many of them, or words that the model does not know.
    """
    if len(text) > MOST_CHARACTERS:
        raise WordError("too_long", given=len(text), most=MOST_CHARACTERS)
    if (given := len(text.split())) > MOST_WORDS:
        raise WordError("too_many", given=given, most=MOST_WORDS)
    return tuple(config.tokens(text or OWN))


def example(task: str, seed: int) -> str:
    """A text of one task that ends before an answer: the next word is determined."""
    random = Random(f"{task}/{seed}")
    text = exercise(random, task, random.choice(TASKS[task].loads[:LIGHT]))
    answers = [place for place, word in enumerate(text) if word.distance]
    near = [place for place in answers if place <= SHORT] or answers[:1]
    return " ".join(word.word for word in text[: random.choice(near)])
