"""The view of the decode page: the ways of decoding, and what each holds, reads and computes."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

from mla_engine import LatentConfig, costs, mechanisms
from mla_engine.closed_forms import KeptPart
from mla_engine.costs import Cost
from ui.pages.decode.run import ROOM, WIDTH, Words, automatic_heads, most_heads, runnable
from ui.parts.ways import Ways, ways
from ui.settings.page import Note
from ui.settings.parsers import MOST_WORDS, Setting, one_of, power_of_two, whole
from ui.settings.state import at_most, chosen, settings
from ui.sources import trained, work
from ui.sources.model import Model, present
from ui.words.text import t

PROMPTS = tuple(2**n for n in range(11))
WRITTEN = 16  # words that a trained model writes: all of them are drawn
FIRST_STEP = 4
FIRST = ("mha", "gqa", "mqa", "mla_absorbed")

SETTINGS = {
    "dec_step": Setting(FIRST_STEP, whole(1, 32)),
    "dec_prompt": Setting(8, power_of_two(1, 2**10), "select_slider"),
    # Heads to run; 0 is as many as take a moment.
    "dec_heads": Setting(0, whole(0, 128), "select_slider"),
    "dec_ways": Setting("four", one_of("four", "all"), "segmented_control"),
    "dec_speed": Setting("normal", one_of("slow", "normal", "fast"), "segmented_control"),
}


@dataclass(frozen=True)
class View:
    """The ways of decoding, the tokens, and the step that is shown.

    Args:
        model: the sizes and whose weights.
        ways: those that are compared.
        words: the tokens up to the last step.
        prompt: how many of them come before the first step.
        most_heads: heads of every way that the server can run.
        chosen: the page's own settings.
    """

    model: Model
    ways: Ways
    words: Words
    prompt: int
    most_heads: int
    chosen: SimpleNamespace

    @cached_property
    def writer(self) -> str:
        """The variant whose trained model writes the words of the steps; empty where none does."""
        return writer(self.model)

    @property
    def text(self) -> str:
        """The text whose tokens a real layer takes in; empty without one."""
        loaded = self.model.checkpoint
        return loaded.text if loaded and not loaded.activations else ""

    @property
    def room(self) -> int:
        """Steps after the prompt."""
        return len(self.words) - self.prompt

    @property
    def context(self) -> int:
        """Tokens that the caches hold before the step."""
        return self.prompt + self.chosen.step - 1

    @property
    def tokens(self) -> int:
        """Tokens that the caches hold after the step."""
        return self.context + 1

    @property
    def latent(self) -> LatentConfig:
        """MLA at the present sizes."""
        return self.ways["mla_absorbed"].config

    @property
    def n_heads(self) -> int:
        """Heads of the whole layer."""
        return self.ways["mha"].config.n_heads

    @cached_property
    def heads(self) -> int:
        """Heads that are run."""
        mha = self.ways["mha"].config
        return self.chosen.heads or min(self.most_heads, automatic_heads(mha))

    @property
    def uneven(self) -> str:
        """The chosen variant, if not every token adds the same to its cache; else empty."""
        code = self.model.variant
        return code if code in self.ways and self.parts(code, self.chosen.step) else ""

    @property
    def choosing(self) -> str:
        """The chosen variant, if it reads latents that an indexer chooses; else empty."""
        code = self.model.variant
        return code if mechanisms.of_variant(code).config_type.chooses_keys else ""

    @property
    def in_full(self) -> str:
        """The chosen variant, if it keeps keys and values themselves; else empty."""
        code = self.model.variant
        return code if code in self.ways and self.ways[code].cache == "kv" else ""

    @property
    def drawn(self) -> list[str]:
        """The ways whose caches are drawn: from MHA to MLA and the chosen one, or all."""
        first = (*FIRST, self.model.variant)
        return [code for code in self.ways if self.chosen.ways == "all" or code in first]

    def cost(self, code: str, *, run: bool = False) -> Cost:
        """Return the cost of this step for the whole layer, or for the heads that are run."""
        way = self.ways[code]
        given = {"cache": way.cache, "dtype_bytes": WIDTH}
        given["heads"] = range(self.heads) if run else None
        return costs.decode(way.config, self.context, way.form, **given)

    def bytes_per_token(self, code: str) -> float:
        """Return the bytes that each token adds to what the whole layer keeps, on average."""
        way = self.ways[code]
        return costs.cache_bytes_per_token(way.config, WIDTH, way.cache)

    def held_bytes(self, code: str, step: int | None = None) -> float:
        """Return the bytes that the whole layer holds after a step, by default that shown."""
        way = self.ways[code]
        tokens = self.prompt + (self.chosen.step if step is None else step)
        return costs.held_bytes(way.config, tokens, WIDTH, way.cache)

    def parts(self, code: str, step: int) -> tuple[KeptPart, ...]:
        """Return what a way holds after a step, by parts; none where each token adds its own."""
        return costs.kept_parts(self.ways[code].config, self.prompt + step, WIDTH)

    def read_bytes(self, code: str) -> float:
        """Return the bytes read of the cache, and of keys and values that the step made from it."""
        cost = self.cost(code)
        return cost.cache_read_bytes + cost.up_projected_bytes / 2

    def multiply_adds(self, code: str) -> int:
        """Return the multiply-adds of all matrix products of the step."""
        return self.cost(code).total_flops // 2

    @cached_property
    def ran(self) -> Ways:
        """The ways that are run: what came after MLA as long as all together take a moment."""
        run: Ways = {}
        for code, way in runnable(self.ways).items():
            more = {**run, code: way}
            if not self.parts(code, 1) or self.operations(more) <= work.MOST:
                run = more
        return run

    def operations(self, ways: Ways) -> int:
        """Return the operations of drawing these layers, and of bringing each to its step."""
        heads, source_of = range(self.heads), self.model.source_of
        configs = {way.config for way in ways.values()}
        drawn = sum(work.drawing(config, heads, source_of(config)) for config in configs)
        given = {"new_tokens": self.tokens, "heads": heads}
        steps = (
            costs.decode(config, 0, way.form, cache=way.cache, **given).total_flops
            + costs.prefill(config, self.tokens, heads=heads).total_flops  # to compare with
            for way in ways.values()
            for config in (work.with_every_key(way.config),)
        )
        return drawn + sum(steps)


# The tokens: a sentence and what a trained model writes after it, a real layer's text, or made-up
# ones for seeded weights, of which only the number matters.


def prompts(model: Model) -> tuple[int, ...]:
    """Return the lengths of a prompt that is no sentence; a real text's leave a token to step."""
    most = len(model.words) - 1 if model.checkpoint else PROMPTS[-1]
    return tuple(n for n in PROMPTS if n <= max(1, most))


def prompt(model: Model) -> int:
    """Count tokens before the first step: of a trained model's sentence, or as many as are set."""
    return len(model.words) if model.is_trained else settings()["dec_prompt"]


def room(model: Model) -> int:
    """Count steps after the present prompt: a real text ends with its last token."""
    before = prompt(model)
    if model.is_trained:
        return max(1, min(MOST_WORDS - before, WRITTEN))
    left = len(model.words) - before if model.checkpoint else ROOM
    return max(1, min(left, ROOM))


def writer(model: Model) -> str:
    """Return the variant whose model writes: the chosen one; empty without trained models."""
    return model.source_of(model.config()).code if model.is_trained else ""


def _words(model: Model) -> Words:
    """Return the tokens up to the last step.

    Raises:
        ValueError: a text that leaves no room for a step, or as `trained.written`.
    """
    if model.checkpoint and len(model.words) < 2:
        raise ValueError(t("decode.too_short"))
    before, steps = prompt(model), room(model)
    if model.checkpoint:
        return model.words[: before + steps]
    if not model.is_trained:
        return tuple(map(str, range(before + steps)))
    if before >= MOST_WORDS:
        raise ValueError(t("decode.too_long", most=MOST_WORDS))
    by = trained.load(writer(model))
    read = trained.tokens(by.config, " ".join(model.words))
    return model.words + trained.written(by.key, read, steps)


def mend() -> list[Note]:
    """Bring heads, prompt and step to what there is; notes as `at_most`."""
    model = present()
    notes = at_most(dec_prompt=prompts(model)[-1])
    try:
        most = most_heads(ways(model, decoding=True), prompt(model))
    except ValueError:  # which `view` tells
        most = model.sizes["n_heads"]
    return notes + at_most(dec_heads=most, dec_step=room(model))


def view() -> View:
    """Return the view of the present settings, which `mend` has brought within what there is.

    Raises:
        ValueError: sizes that no layer can have, a text that leaves no room for a step.
    """
    model = present()
    every, before = ways(model, decoding=True), prompt(model)
    words = _words(model)
    return View(model, every, words, before, most_heads(every, before), chosen("decode"))
