"""The words of the page: the statement, and what stands around picture and bars."""

from ui.pages.language_model import picture
from ui.pages.language_model.view import View
from ui.settings.parsers import MOST_WORDS
from ui.words.numbers import count, share
from ui.words.text import listed, safe, t

QUOTED = 8  # words of the text in the statement


def lead(view: View) -> tuple[str, str]:
    """How likely the likeliest next word is, and after what."""
    word, probability = view.likeliest[0]
    more = "… " if len(view.words) > QUOTED else ""
    line = t(
        "language_model.line",
        text=safe(more + " ".join(view.words[-QUOTED:])),
        model=name(view.trained.code),
        cached=count(view.trained.cached),
        word=safe(word),
    )
    return share(probability), line


def name(code: str) -> str:
    """Of a variant."""
    return t(f"language_model.name_{code}")


def notes(view: View) -> list[str]:
    """What is to be known of a long text; nothing of a short one."""
    most, there = view.trained.config.max_context, picture.rows(view)
    values = {"words": count(len(view.words)), "most": count(most), "limit": count(MOST_WORDS)}
    found = [t("language_model.beyond", **values)] if len(view.words) > most else []
    if len(there) < len(view.words):
        shown = {"first": count(there[0] + 1), "last": count(there[-1] + 1)}
        found.append(t("language_model.part", all=count(len(view.words)), **shown))
    if (several := picture.pooled(view)) > 1:
        found.append(t("language_model.pooled", n=count(several)))
    return found


def next_alt(view: View) -> str:
    """The bars of the next word in words."""
    said = (t("language_model.word_share", word=w, share=share(p)) for w, p in view.likeliest)
    return t("language_model.next_alt", listed=listed(said))


def held(view: View, code: str) -> str:
    """What a variant keeps of the text."""
    return count(view.held(code))


def held_alt(view: View) -> str:
    """The caches in words."""
    said = (
        t("language_model.held_of", name=name(code), numbers=held(view, code))
        for code in view.cached
    )
    return t("language_model.held_alt", words=count(len(view.words)), listed=listed(said))


def counted(view: View) -> str:
    """How the caches are counted."""
    layers, words = count(view.trained.config.n_layers), count(len(view.words))
    values = {"each": count(view.trained.cached), "numbers": held(view, view.trained.code)}
    values |= {"model": name(view.trained.code), "layers": layers, "words": words}
    return t("language_model.counted", **values)
