"""What can be downloaded: the set, a question's maps, the amounts behind its choices."""

import numpy as np

from mla_engine.claims import Figure
from mla_engine.late import Late
from mla_engine.quiz import Question
from ui.pages.quiz import words
from ui.pages.quiz.view import UNVOTED, View

pd = Late("pandas")


def questions(here: View) -> "pd.DataFrame":
    """The whole set; answers stand in it for what is revealed."""
    rows = []
    for number, (question, predicted) in enumerate(
        zip(here.questions, here.answers, strict=True), start=1
    ):
        texts, is_open = words.answers(question), predicted is None
        rows.append(
            {
                "number": number,
                "kind": question.kind,
                "question": words.asks(question),
                "choices": " | ".join(texts),
                "prediction": "" if predicted in (None, UNVOTED) else texts[predicted],
                "answer": "" if is_open else texts[question.answer],
            }
        )
    return pd.DataFrame(rows)


def maps(question: Question) -> "pd.DataFrame":
    """Every cell of the maps to choose among."""
    return pd.DataFrame(
        [
            {"map": letter, "query": query, "key": key, "attention": float(shares[query, key])}
            for letter, shares in zip(words.LETTERS, question.maps, strict=False)
            for query, key in np.ndindex(shares.shape)
        ]
    )


def amounts(question: Question) -> "pd.DataFrame | None":
    """The amounts behind the choices and their unit, None where there are none."""
    facts = {figure.name: figure for figure in question.facts}
    behind = [
        facts.get(choice.value, Figure("", choice.value, question.unit))
        for choice in question.choices
    ]
    if question.unit == "map" or any(isinstance(figure.value, str) for figure in behind):
        return None
    values = [float(figure.value) for figure in behind]
    letters = list(words.LETTERS[: len(values)])
    return pd.DataFrame({"answer": letters, "amount": values, "unit": behind[0].unit})
