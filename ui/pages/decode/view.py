"""The view of the decode page: the ways of decoding, and what each holds, reads and computes."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter

from mla_engine import LatentConfig, costs
from mla_engine.config import AttentionConfig
from mla_engine.costs import Cost
from mla_engine.mechanism import KeptPart
from ui.engine import shared_cache, work
from ui.engine.model import Model, present
from ui.pages.decode import text
from ui.pages.decode.run import WIDTH, Words, n_bytes
from ui.parts.ways import CHOOSING, MOST, Ways, ways
from ui.settings.page import Note
from ui.settings.state import at_most, settings

MOST_SHARED = 24 * 2**20  # weights of one head that are drawn beside those of all other ways
AUTOMATIC_ELEMENTS = 5 * 2**20  # weights of MHA that are drawn in a moment


@dataclass(frozen=True)
class View:
    """The ways, how many tokens came before, which step of how many, how many heads are run.

    `words` are the tokens up to the last step; `writer` is the variant whose trained model writes
    those of the steps, empty where none does. `most_heads` are those that the server could run,
    `speed` is how fast the picture plays.
    """

    model: Model
    ways: Ways
    words: Words
    writer: str
    prompt: int
    step: int
    room: int
    heads: int
    most_heads: int
    speed: str

    @property
    def context(self) -> int:
        """Tokens that the caches hold before the step."""
        return self.prompt + self.step - 1

    @property
    def tokens(self) -> int:
        """Tokens that the caches hold after the step."""
        return self.context + 1

    @property
    def new(self) -> str:
        """The token of this step."""
        return self.words[self.context]

    @property
    def most_tokens(self) -> int:
        """Tokens after the last step."""
        return self.prompt + self.room

    @property
    def latent(self) -> LatentConfig:
        """MLA at the present sizes."""
        return self.ways["mla_absorbed"].config

    @property
    def n_heads(self) -> int:
        """Heads of the whole layer."""
        return self.ways["mha"].config.n_heads

    def cost(self, code: str, *, run: bool = False) -> Cost:
        """Return the cost of this step for the whole layer, or for the heads that are run."""
        way = self.ways[code]
        given = {"cache": way.cache, "dtype_bytes": WIDTH}
        given["heads"] = range(self.heads) if run else None
        return costs.decode(way.config, self.context, way.form, **given)

    def bytes_per_token(self, code: str) -> float:
        """Bytes that each token adds to what the whole layer keeps, on average."""
        way = self.ways[code]
        return costs.cache_bytes_per_token(way.config, WIDTH, way.cache)

    def held_bytes(self, code: str, step: int | None = None) -> float:
        """Bytes that the whole layer holds after a step, by default that shown."""
        way = self.ways[code]
        tokens = self.prompt + (self.step if step is None else step)
        return costs.held_bytes(way.config, tokens, WIDTH, way.cache)

    @property
    def widest_bytes(self) -> float:
        """The most that any way holds after the last step."""
        return max(self.held_bytes(code, self.room) for code in self.ways)

    def parts(self, code: str, step: int) -> tuple[KeptPart, ...]:
        """Return what a way holds after a step, by parts; none where each token adds its own."""
        return costs.kept_parts(self.ways[code].config, self.prompt + step, WIDTH)

    @property
    def uneven(self) -> str:
        """The chosen variant, if not every token adds the same to its cache; else empty."""
        code = self.model.variant
        return code if code in self.ways and self.parts(code, self.step) else ""

    def read_bytes(self, code: str) -> float:
        """Return the bytes read of the cache, and of keys and values that the step made from it."""
        cost = self.cost(code)
        return cost.cache_read_bytes + cost.up_projected_bytes / 2

    def outgrown(self) -> int:
        """Tokens from which on MLA's cache is larger than what the chosen way holds of any number.

        Asked of a way that does not grow.
        """
        return int(self.held_bytes(self.uneven) // self.bytes_per_token("mla_absorbed")) + 1

    def added_by_mla(self) -> float:
        """Return a token's average addition to MLA's cache over that to the chosen way's.

        Asked of a way that grows.
        """
        return self.bytes_per_token("mla_absorbed") / self.bytes_per_token(self.uneven)

    @property
    def choosing(self) -> str:
        """The chosen variant, if it reads latents that an indexer chooses; else empty."""
        return self.model.variant if self.model.variant in CHOOSING else ""

    def reads_less(self) -> int | None:
        """Tokens in the cache from which on a step with an indexer reads less than without one."""
        return reads_less(self.ways[self.choosing].config, self.latent)

    @cached_property
    def ran(self) -> Ways:
        """The ways that are run: what came after MLA as long as all together take a moment."""
        chosen: Ways = {}
        for code, way in runnable(self.ways).items():
            more = {**chosen, code: way}
            if not self.parts(code, 1) or self.operations(more) <= work.MOST:
                chosen = more
        return chosen

    def operations(self, ways: Ways) -> int:
        """Return the operations of drawing these layers, and of bringing each to its step."""
        heads, origin = range(self.heads), self.model.origin
        configs = {way.config for way in ways.values()}
        drawn = sum(work.drawing(config, heads, origin(config)) for config in configs)
        given = {"new_tokens": self.tokens, "heads": heads}
        steps = (
            costs.decode(config, 0, way.form, cache=way.cache, **given).total_flops
            + costs.prefill(config, self.tokens, heads=heads).total_flops  # to compare with
            for way in ways.values()
            for config in (work.with_every_key(way.config),)
        )
        return drawn + sum(steps)

    def multiply_adds(self, code: str) -> int:
        """Return the multiply-adds of all matrix products of the step."""
        return self.cost(code).total_flops // 2


@shared_cache.cached
def reads_less(one: AttentionConfig, other: AttentionConfig) -> int | None:
    """Tokens in the cache from which on a step of one layer reads less than one of another."""
    steps = (partial(costs.decode, config) for config in (one, other))
    return costs.lighter_from(*steps, (one, other), attrgetter("cache_read_bytes"), MOST)


def prompt(model: Model) -> int:
    """Tokens before the first step: of a trained model's sentence, or as many as are set."""
    return len(model.words) if model.trained is not None else settings()["dec_prompt"]


def room(model: Model) -> int:
    """Steps after the present prompt."""
    return text.room(model, prompt(model))


def mend() -> list[Note]:
    """Bring heads, prompt and step to what there is; notes as `at_most`."""
    model = present()
    notes = at_most(dec_prompt=text.prompts(model)[-1])
    return notes + at_most(dec_heads=_most_heads(model), dec_step=room(model))


def _most_heads(model: Model) -> int:
    try:
        every = ways(model, decoding=True)
    except ValueError:  # which `view` tells
        return model.sizes["n_heads"]
    return most_heads(every, prompt(model))


def most_heads(ways: Ways, prompt: int) -> int:
    """Return how many heads of every way the server can keep at once."""
    every = runnable(ways).values()
    heads = range(1, min(way.config.n_heads for way in every) + 1)
    most = shared_cache.page_budget_bytes()
    return max(1, bisect_right(heads, most, key=lambda n: n_bytes(every, n, prompt)))


def runnable(ways: Ways) -> Ways:
    """Without those after MLA that take long for one head: much of their layers is shared."""
    return {
        code: way
        for code, way in ways.items()
        if not costs.kept_parts(way.config, 1, WIDTH)
        or costs.parameters(way.config, range(1)) <= MOST_SHARED
    }


def view() -> View:
    """Return the view of the present settings, which `mend` has brought within what there is.

    Raises:
        ValueError: sizes that no layer can have, a text that leaves no room for a step.
    """
    s, model = settings(), present()
    every = ways(model, decoding=True)
    before = prompt(model)
    words, most = text.words(model, before), most_heads(every, before)
    heads = s["dec_heads"] or min(most, _automatic(every["mha"].config))
    steps = {"prompt": before, "step": s["dec_step"], "room": room(model)}
    ran = {"heads": heads, "most_heads": most, "speed": s["dec_speed"]}
    return View(model, every, words, text.writer(model), **steps, **ran)


def _automatic(mha: AttentionConfig) -> int:
    """Return as many heads as are drawn in a moment, halved from all of them."""
    heads = mha.n_heads
    while heads > 1 and costs.parameters(mha, range(heads)) > AUTOMATIC_ELEMENTS:
        heads = (heads + 1) // 2
    return heads
