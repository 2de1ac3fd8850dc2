"""Absorption is the order of multiplication: a product of three factors, bracketed in two ways.

Logits are q_C W_UK c_KV and heads' outputs are attention c_KV W_UV. The bracket on the left is the
absorbed form, on the right the expanded one (DeepSeek-V2, arXiv 2405.04434, section 2.1.2).
"""

from dataclasses import dataclass

from kvcount import checks
from mla_engine.latent import LatentConfig

__all__ = ["FORMS", "SIDES", "Bracketing", "Matrix", "bracketings"]

SIDES = ("scores", "output")
FORMS = ("absorbed", "expanded")


@dataclass(frozen=True)
class Matrix:
    """A factor or a product: rows and columns as one head sees it, and how many heads have one."""

    code: str
    rows: int
    columns: int
    heads: int

    @property
    def elements(self) -> int:
        """Numbers in all heads together."""
        return self.rows * self.columns * self.heads


@dataclass(frozen=True, kw_only=True)
class Bracketing:
    """Three factors, the pair that is multiplied first, what it makes, and the result."""

    form: str
    factors: tuple[Matrix, Matrix, Matrix]
    inner: Matrix
    result: Matrix

    @property
    def first(self) -> int:
        """Place of the bracket's first factor: 0 or 1."""
        return FORMS.index(self.form)

    @property
    def multiply_adds(self) -> tuple[int, int]:
        """The multiply-adds of the bracket and of the product that follows, over all heads."""
        inside = self.inner.elements * self.factors[self.first].columns
        outside = self.result.elements * self.factors[2 - self.first].rows
        return inside, outside

    @property
    def factor_elements(self) -> int:
        """Numbers of the three factors, each read once."""
        return sum(factor.elements for factor in self.factors)

    def moved_bytes(self, dtype_bytes: float) -> tuple[float, float, float]:
        """Return the bytes read of the factors, moved of the bracket's product, written last."""
        elements = self.factor_elements, 2 * self.inner.elements, self.result.elements
        return tuple(n * dtype_bytes for n in elements)


def bracketings(
    config: LatentConfig, side: str, *, queries: int, keys: int
) -> dict[str, Bracketing]:
    """Return both orders, by form.

    Args:
        config: the layer; all its heads.
        side: "scores" (q_C W_UK c_KV) or "output" (attention c_KV W_UV).
        queries: tokens that ask.
        keys: tokens that are seen, the queries among them.

    Raises:
        ValueError: an argument that does not fit, named with its value.
    """
    checks.kind("config", config, LatentConfig)
    checks.choice("side", side, SIDES)
    checks.whole("queries", queries, most=2**24)
    checks.whole("keys", keys, most=2**24)
    t, s, h = queries, keys, config.n_heads
    k, v, c = config.d_head, config.d_value, config.d_latent_kv
    if side == "scores":
        factors = Matrix("q_C", t, k, h), Matrix("W_UK", k, c, h), Matrix("c_KV", c, s, 1)
        inner = {"absorbed": Matrix("q_C_absorbed", t, c, h), "expanded": Matrix("k_C", k, s, h)}
        result = Matrix("scores_C", t, s, h)
    else:
        factors = Matrix("attention", t, s, h), Matrix("c_KV", s, c, 1), Matrix("W_UV", c, v, h)
        inner = {"absorbed": Matrix("o_latent", t, c, h), "expanded": Matrix("v_C", s, v, h)}
        result = Matrix("o", t, v, h)
    return {
        form: Bracketing(form=form, factors=factors, inner=inner[form], result=result)
        for form in FORMS
    }
