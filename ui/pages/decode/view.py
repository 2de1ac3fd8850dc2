"""What the decode page shows: six ways of decoding, and what each holds, reads and computes."""

from dataclasses import dataclass

import pandas as pd

from mla_engine import GroupedConfig, LatentConfig, costs
from mla_engine.costs import Cost
from ui.engine import model
from ui.engine import real_layer as source
from ui.pages.decode.run import ROOM, WIDTH, Step
from ui.parts import ways as every_way
from ui.parts.ways import Way
from ui.settings.page import Note
from ui.settings.state import at_most, settings
from ui.words.text import t

PROMPTS = tuple(2**n for n in range(11))
AUTOMATIC_ELEMENTS = 5 * 2**20  # weights of MHA that are drawn in a moment


@dataclass(frozen=True)
class Scene:
    """The ways, how many tokens came before, which step of how many, how many heads are run."""

    ways: dict[str, Way]
    prompt: int
    step: int
    room: int
    heads: int

    @property
    def context(self) -> int:
        """Tokens that the caches hold before the step."""
        return self.prompt + self.step - 1

    @property
    def latent(self) -> LatentConfig:
        """MLA at the present sizes."""
        return self.ways["mla_absorbed"].config

    @property
    def n_heads(self) -> int:
        """Heads of the whole layer."""
        return self.ways["mha"].config.n_heads

    def cost(self, code: str) -> Cost:
        """What this step costs the whole layer, in the numbers' width of the run."""
        way = self.ways[code]
        return costs.decode(way.config, self.context, way.form, cache=way.cache, dtype_bytes=WIDTH)

    def bytes_per_token(self, code: str) -> float:
        """Bytes that the whole layer keeps of a token."""
        way = self.ways[code]
        return costs.cache_bytes_per_token(way.config, WIDTH, way.cache)

    def held_bytes(self, code: str) -> float:
        """Bytes that the whole layer holds after the step."""
        return (self.context + 1) * self.bytes_per_token(code)

    def read_bytes(self, code: str) -> float:
        """Of the cache, and of keys and values that the step made from it."""
        cost = self.cost(code)
        return cost.cache_read_bytes + cost.up_projected_bytes / 2

    @property
    def most_tokens(self) -> int:
        """Tokens after the last step."""
        return self.prompt + self.room

    def multiply_adds(self, code: str) -> int:
        """Of all matrix products of the step."""
        return self.cost(code).total_flops // 2


def prompts() -> tuple[int, ...]:
    """Lengths of the prompt; a real text's leave a token for a step."""
    most = len(model.words()) - 1 if source.chosen() else PROMPTS[-1]
    return tuple(n for n in PROMPTS if n <= max(1, most))


def room() -> int:
    """Steps after the prompt: a real text ends with its last token."""
    left = len(model.words()) - settings()["dec_prompt"] if source.chosen() else ROOM
    return max(1, min(left, ROOM))


def mend() -> list[Note]:
    """Bring heads, prompt and step to what there is; notes as `at_most`."""
    notes = at_most(dec_heads=model.sizes()["n_heads"], dec_prompt=prompts()[-1])
    return notes + at_most(dec_step=room())


def scene() -> Scene:
    """The scene of the present settings, once `mend` has brought them within what there is.

    Raises:
        ValueError: sizes that no layer can have, or a real text of one token.
    """
    if source.chosen() and len(model.words()) < 2:
        raise ValueError(t("decode.too_short"))
    s, ways = settings(), every_way.ways(decoding=True)
    config = ways["mha"].config
    heads = s["dec_heads"] or config.n_heads
    while not s["dec_heads"] and heads > 1 and _weights(config, heads) > AUTOMATIC_ELEMENTS:
        heads = (heads + 1) // 2
    return Scene(ways, s["dec_prompt"], s["dec_step"], room(), heads)


def _weights(config: GroupedConfig, heads: int) -> int:
    return costs.parameters(config, range(heads))


def table(shown: Scene, taken: dict[str, Step]) -> pd.DataFrame:
    """The step as numbers, for the download."""
    rows = [
        {
            "way": code,
            "prompt_tokens": shown.prompt,
            "step": shown.step,
            "heads": shown.n_heads,
            "held_bytes": shown.held_bytes(code),
            "read_bytes": shown.read_bytes(code),
            "multiply_adds": shown.multiply_adds(code),
            "heads_run": shown.heads,
            "measured_seconds": step.seconds,
            "difference_from_whole_sequence": step.difference,
        }
        for code, step in taken.items()
    ]
    return pd.DataFrame(rows)
