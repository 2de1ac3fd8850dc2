"""What the cache page asks: how soon MHA has filled what the model's own cache takes."""

from ui.pages.kv_cache.view import View
from ui.pages.kv_cache.words import shown
from ui.parts.guess.question import Guess, decades, tokens
from ui.words.numbers import count
from ui.words.text import t


def question(view: View) -> Guess | None:
    """After how many tokens MHA keeps as much; None where the model is MHA itself."""
    scene = view.scenes[0]
    if view.topic != "context" or scene.own == "mha":
        return None
    own = scene.held_bytes(scene.own, view.context)
    return decades(
        "kv_cache",
        t(
            "kv_cache.guess",
            model=scene.preset.name,
            own=shown(view, own),
            tokens=count(view.context),
        ),
        own / scene.held_bytes("mha", 1),
        (1, 10 ** len(str(view.context))),
        say=lambda n: tokens(count(n)),
        why=t("kv_cache.guess_why"),
        hides=("lead",),
    )
