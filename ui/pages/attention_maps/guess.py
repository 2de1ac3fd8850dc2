"""What the page of maps asks: how many cells of a map hold anything."""

from ui.pages.attention_maps.view import View
from ui.parts.guess.question import Guess, among, choice
from ui.words.numbers import count
from ui.words.text import t


def question(view: View) -> Guess | None:
    """How many cells are not masked; None where there is too little to choose among."""
    mask, n = view.maps.mask, len(view.maps.run.words)
    cells = (n, n * (n - 1) // 2, n * (n + 1) // 2, n * n)
    numbers, right = among([cell for cell in cells if cell], int(mask.sum()))
    if len(numbers) < len(cells):
        return None
    why = "all" if mask.all() else "causal" if numbers[right] == cells[2] else "window"
    return choice(
        "attention_maps",
        t("attention_maps.guess", n=count(n), all=count(n * n)),
        [count(number) for number in numbers],
        right,
        why=t(f"attention_maps.guess_{why}"),
    )
