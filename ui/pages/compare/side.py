"""One of the two layers that are compared."""

from dataclasses import dataclass

from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs import Cost
from ui.engine.layers import Origin
from ui.engine.real_layer import RealLayer
from ui.parts.flow import Overview
from ui.words.text import safe, t

BF16_BYTES = 2


@dataclass(frozen=True, kw_only=True)
class Side:
    """A layer of a published model, or of what is chosen above the page, in a variant.

    Args:
        letter: "A" or "B".
        model: what its sizes are of, as plain text.
        config: its configuration.
        variant: what it is shown as.
        origin: whose its weights are.
        preset: the published model that the sizes are from, if from one.
        loaded: the real layer that is chosen above, if this is it: also where its weights do not
            fit the variant.
    """

    letter: str
    model: str
    config: AttentionConfig
    variant: str
    origin: Origin
    preset: str | None = None
    loaded: RealLayer | None = None

    @property
    def form(self) -> str:
        """The form that it is computed in, as SYMBOLS names it."""
        return mechanisms.form_of(self.variant).symbols

    @property
    def cost_form(self) -> str:
        """The form that it is computed in, as the costs name it."""
        return mechanisms.form_of(self.variant).name

    @property
    def grows(self) -> bool:
        """True where all that it keeps is kept of every token."""
        return not costs.fixed_bytes(self.config, BF16_BYTES)

    @property
    def name(self) -> str:
        """Letter, model and variant, as plain text."""
        return self._named(self.model)

    @property
    def shown_name(self) -> str:
        """Letter, model and variant, as Markdown."""
        return self._named(safe(self.model) if self.loaded else self.model)

    def _named(self, model: str) -> str:
        variant = t(f"common.{self.variant}")
        return t("compare.name", letter=self.letter, model=model, variant=variant)

    @property
    def overview(self) -> Overview:
        """Its data flow."""
        return Overview(self.config, self.form)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every step, by its code."""
        return self.overview.shapes

    def decode(self, context: int) -> Cost:
        """Return the cost of one token after `context` others, with the cache of this form."""
        return costs.decode(self.config, context, self.cost_form)

    def prefill(self, tokens: int) -> Cost:
        """Return the cost of `tokens` tokens at once."""
        return costs.prefill(self.config, tokens, self.cost_form)
