"""What the decode page shows: six ways of decoding, and what each holds, reads and computes."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from mla_engine import LatentConfig, costs
from mla_engine.config import AttentionConfig
from mla_engine.costs import Cost
from ui.engine import kept, work
from ui.engine.model import Model, present
from ui.pages.decode import text
from ui.pages.decode.run import WIDTH, Words, n_bytes
from ui.parts.ways import INDEXED, MOST, Ways, ways
from ui.settings.page import Note
from ui.settings.state import at_most, settings

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
        """What this step costs the whole layer, or the heads that are run; as wide as they are."""
        way = self.ways[code]
        given = {"cache": way.cache, "dtype_bytes": WIDTH}
        given["heads"] = range(self.heads) if run else None
        return costs.decode(way.config, self.context, way.form, **given)

    def bytes_per_token(self, code: str) -> float:
        """Bytes that the whole layer keeps of a token."""
        way = self.ways[code]
        return costs.cache_bytes_per_token(way.config, WIDTH, way.cache)

    def held_bytes(self, code: str, step: int | None = None) -> float:
        """Bytes that the whole layer holds after a step, by default that shown."""
        tokens = self.prompt + (self.step if step is None else step)
        return tokens * self.bytes_per_token(code)

    def read_bytes(self, code: str) -> float:
        """Of the cache, and of keys and values that the step made from it."""
        cost = self.cost(code)
        return cost.cache_read_bytes + cost.up_projected_bytes / 2

    def reads_less(self) -> int | None:
        """Tokens in the cache from which on a step with an indexer reads less than without one."""
        chosen, every = (
            partial(costs.decode, config) for config in (self.ways[INDEXED].config, self.latent)
        )
        read = attrgetter("cache_read_bytes")
        return costs.first_whole(lambda tokens: read(chosen(tokens)) < read(every(tokens)), MOST)

    @property
    def operations(self) -> int:
        """Of drawing every layer, and of bringing every way to its step with the heads that run."""
        heads, origin = range(self.heads), self.model.origin
        configs = {way.config for way in self.ways.values()}
        drawn = sum(work.drawing(config, heads, origin(config)) for config in configs)
        given = {"new_tokens": self.tokens, "heads": heads}
        steps = (
            costs.decode(config, 0, way.form, cache=way.cache, **given).total_flops
            + costs.prefill(config, self.tokens, heads=heads).total_flops  # to compare with
            for way in self.ways.values()
            for config in (work.as_run(way.config),)
        )
        return drawn + sum(steps)

    def multiply_adds(self, code: str) -> int:
        """Of all matrix products of the step."""
        return self.cost(code).total_flops // 2


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
    """How many heads of every way the server can keep at once."""
    every = ways.values()
    heads = range(1, min(way.config.n_heads for way in every) + 1)
    most = kept.share_bytes()
    return max(1, bisect_right(heads, most, key=lambda n: n_bytes(every, n, prompt)))


def view() -> View:
    """What the present settings stand for, once `mend` has brought them within what there is.

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
    """As many heads as are drawn in a moment, halved from all of them."""
    heads = mha.n_heads
    while heads > 1 and costs.parameters(mha, range(heads)) > AUTOMATIC_ELEMENTS:
        heads = (heads + 1) // 2
    return heads
