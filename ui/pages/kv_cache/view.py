"""The view of the cache page: two models, a topic, and the reader's choices."""

from dataclasses import dataclass

from ui.pages.kv_cache.scene import Scene
from ui.parts.growth import CONTEXTS
from ui.settings.page import Note
from ui.settings.sizes import divisors, longest
from ui.settings.state import at_most, nearest, settings

OF_ONE_KIND = "layouts", "formula"  # topics that look into one layer
RANKS = tuple(2**n for n in range(8))  # GPUs that can share a model


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything that is shown.

    Args:
        topic: which of the page's five questions is asked.
        scenes: the left model and the right one.
        context: tokens of a sequence.
        log: whether both axes are logarithmic.
        unit: "GiB" or "GB".
        gpu: the kind of GPU that serves the model.
        ranks: how many of them share it.
        attention: by what they share it, "tensor" (heads) or "data" (sequences).
        weights: the type in which they keep the weights.
        sequences: how many are dealt out to GPUs.
        own: the name of a model of the reader's own, "" for none.
        language: the reader's.
    """

    topic: str
    scenes: tuple[Scene, Scene]
    context: int
    log: bool
    unit: str
    gpu: str
    ranks: int
    attention: str
    weights: str
    sequences: int
    own: str
    language: str

    @property
    def contexts(self) -> tuple[int, ...]:
        """The lengths that are drawn: powers of two, or even steps up to the chosen length."""
        return CONTEXTS if self.log else tuple(range(0, self.context + 1, self.context // 32))


def view() -> View:
    """Return what the settings choose."""
    s = settings()
    return View(
        topic=s["kv_view"],
        scenes=scenes(),
        context=s["kv_context"],
        log=s["kv_log"],
        unit=s["kv_unit"],
        gpu=s["kv_gpu"],
        ranks=s["kv_ranks"],
        attention=s["kv_attention"],
        weights=s["kv_weights"],
        sequences=s["kv_sequences"],
        own=s["kv_own"],
        language=s["lang"],
    )


def scenes() -> tuple[Scene, Scene]:
    """Return the two models that the settings choose."""
    s = settings()
    first = s["kv_view"] in OF_ONE_KIND
    choices = (s["kv_groups"], s["kv_layers"], s["kv_batch"], s["kv_type"], first)
    return Scene(s["kv_left"], *choices), Scene(s["kv_right"], *choices)


def kv_heads(models: tuple[Scene, ...]) -> list[int]:
    """Return the numbers of KV heads that the heads of one of the models can share."""
    heads = [scene.preset.config.n_heads for scene in models]
    return sorted({n for all_heads in heads for n in divisors(all_heads)})


def most_caches(models: tuple[Scene, ...]) -> int:
    """Return the number of caches of the model that has most of them."""
    return max(scene.all_caches for scene in models)


def mend() -> list[Note]:
    """Bring KV heads, layers, context and GPUs to what one of the two models can have."""
    models = scenes()
    heads = max(scene.preset.config.n_heads for scene in models)
    groups = max(n for n in kv_heads(models) if n <= settings()["kv_groups"])
    notes = nearest(kv_groups=groups) + at_most(kv_layers=most_caches(models))
    notes += at_most(kv_context=longest(*(scene.key for scene in models)))
    return notes + at_most(kv_ranks=1 << heads.bit_length() - 1)
