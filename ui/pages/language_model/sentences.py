"""Texts of the language that end before an answer."""

from random import Random

from mla_engine.language_model.texts import TASKS, exercise

SHORT = 24  # words of an example: all of them are drawn in a picture that a hall can read
LIGHT = 2  # of a task's loads, from the lightest


def example(task: str, seed: int) -> str:
    """A text of one task that ends before an answer: the next word is determined."""
    random = Random(f"{task}/{seed}")
    text = exercise(random, task, random.choice(TASKS[task].loads[:LIGHT]))
    answers = [place for place, word in enumerate(text) if word.distance]
    near = [place for place in answers if place <= SHORT] or answers[:1]
    return " ".join(word.word for word in text[: random.choice(near)])
