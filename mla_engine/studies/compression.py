"""From the W_K and W_V of a layer to a latent of any rank, by a truncated SVD.

The best approximation of rank r keeps the r largest singular values (Eckart and Young 1936). Joint
compression stacks W_K over W_V, so that one latent of r numbers serves both; separate compression
gives each a latent of its own, the two together of r numbers. Works on any layer with W_K and W_V.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError
from mla_engine.grouped import GroupedQueryAttention, forms
from mla_engine.grouped.projections import finished, turn_of
from mla_engine.layer import position_numbers
from mla_engine.rope import per_head
from mla_engine.studies.agreement import relative_error

__all__ = ["Factors", "Joint", "Loss", "Separate", "joint", "loss", "separate", "with_spectrum"]


@dataclass(frozen=True, eq=False)
class Factors:
    """A matrix as basis times coordinates: the first r columns and rows are its best rank r."""

    matrix: Tensor  # [m,d]
    vectors: Tensor  # eigenvectors of its smaller Gram matrix, or of what it makes [n,n], float64
    singular_values: Tensor  # falling [n], float64

    @classmethod
    def of(cls, matrix: Tensor, h: Tensor | None = None) -> "Factors":
        """Return the factors of [m,d] by the eigenvectors of its smaller Gram matrix, in float64.

        Ten times as fast as an SVD of a wide matrix; singular values below 1e-8 of the largest
        are rounding. With hidden states h [b,t,d] the factors are fitted to them: what the matrix
        makes of h is kept best, its principal components are the basis.
        """
        wide = matrix.double()
        made = wide if h is None else wide @ h.flatten(0, 1).double().mT
        tall = h is None and wide.shape[0] > wide.shape[1]
        squares, vectors = torch.linalg.eigh(made.mT @ made if tall else made @ made.mT)
        values = squares.flip(0).clamp(min=0).sqrt()
        return cls(matrix, vectors.flip(1), values)  # the largest first

    @property
    def tall(self) -> bool:
        """True if the columns' side is reduced, as of more rows than columns."""
        return len(self.vectors) < self.matrix.shape[0]

    @cached_property
    def basis(self) -> Tensor:
        """[m,n]."""
        basis = self.matrix.double() @ self.vectors if self.tall else self.vectors
        return basis.to(self.matrix.dtype)

    @cached_property
    def coordinates(self) -> Tensor:
        """[n,d]."""
        rows = self.vectors.mT if self.tall else self.vectors.mT @ self.matrix.double()
        return rows.to(self.matrix.dtype)

    @property
    def most(self) -> int:
        """The rank from which nothing is lost."""
        return len(self.singular_values)

    def cut(self, rank: int) -> Tensor:
        """Return the best approximation of this rank [m,d]."""
        return self.basis[:, :rank] @ self.coordinates[:rank]

    def applied(self, h: Tensor, rank: int) -> Tensor:
        """Return `cut(rank)` h [b,t,m] of h [b,t,d] without building the matrix."""
        kept = self.vectors[:, :rank].to(h.dtype)
        if self.tall:
            return h @ kept @ kept.mT @ self.matrix.mT
        return h @ self.matrix.mT @ kept @ kept.mT


@dataclass(frozen=True, eq=False)
class Joint:
    """One latent for keys and values."""

    factors: Factors  # of balance W_K over W_V, all heads, [g k + g v, d]
    shapes: tuple[torch.Size, torch.Size]  # of W_K [g,k,d] and W_V [g,v,d]
    balance: float = 1.0

    @property
    def most(self) -> int:
        """The size of the latent from which nothing is lost."""
        return self.factors.most

    def weights(self, rank: int) -> tuple[Tensor, Tensor]:
        """Return W_K [g,k,d] and W_V [g,v,d] as a latent of `rank` numbers leaves them."""
        W_K, W_V = _parted(self.factors.cut(rank), self.shapes)
        return W_K / self.balance, W_V

    def keys_and_values(self, h: Tensor, rank: int) -> tuple[Tensor, Tensor]:
        """Return k_pre [b,t,g,k] and v [b,t,g,v] of h [b,t,d], as these weights make them."""
        k_pre, v = _split(self.factors.applied(h, rank), self.shapes)
        return k_pre / self.balance, v


@dataclass(frozen=True, eq=False)
class Separate:
    """A latent for the keys and one for the values; the largest singular values of both stay."""

    keys: Factors
    values: Factors
    shapes: tuple[torch.Size, torch.Size]

    @property
    def most(self) -> int:
        """The size of both latents from which nothing is lost."""
        return self.keys.most + self.values.most

    def ranks(self, rank: int) -> tuple[int, int]:
        """Share out `rank` numbers between keys and values so that least is lost."""
        both = torch.cat((self.keys.singular_values, self.values.singular_values))
        kept = both.argsort(descending=True, stable=True)[:rank]
        of_keys = int((kept < self.keys.most).sum())
        return of_keys, len(kept) - of_keys

    def weights(self, rank: int) -> tuple[Tensor, Tensor]:
        """Return W_K [g,k,d] and W_V [g,v,d] as latents of `rank` numbers together leave them."""
        pairs = zip((self.keys, self.values), self.ranks(rank), self.shapes, strict=True)
        return tuple(factors.cut(n).reshape(shape) for factors, n, shape in pairs)

    def keys_and_values(self, h: Tensor, rank: int) -> tuple[Tensor, Tensor]:
        """Return k_pre [b,t,g,k] and v [b,t,g,v] of h [b,t,d], as these weights make them."""
        pairs = zip((self.keys, self.values), self.ranks(rank), strict=True)
        both = torch.cat([factors.applied(h, n) for factors, n in pairs], dim=-1)
        return _split(both, self.shapes)


def _parted(stacked: Tensor, shapes: Sequence[torch.Size]) -> tuple[Tensor, Tensor]:
    rows = [shape[0] * shape[1] for shape in shapes]
    parts = zip(stacked.split(rows), shapes, strict=True)
    return tuple(part.reshape(shape) for part, shape in parts)


def _split(made: Tensor, shapes: Sequence[torch.Size]) -> tuple[Tensor, Tensor]:
    """Return the keys and values of every KV head, out of [b,t,m]."""
    parts = made.split([shape[0] * shape[1] for shape in shapes], dim=-1)
    pairs = zip(parts, shapes, strict=True)
    return tuple(part.unflatten(-1, tuple(shape[:2])) for part, shape in pairs)


def joint(W_K: Tensor, W_V: Tensor, h: Tensor | None = None) -> Joint:
    """Return the factors of W_K [g,k,d] over W_V [g,v,d].

    With hidden states h [b,t,d] they are fitted to the keys and values that these make, brought to
    one size (Frobenius norm) first.

    Raises:
        ValueError: the two do not read the same h.
    """
    _check(W_K, W_V)
    keys, values = W_K.flatten(0, 1), W_V.flatten(0, 1)
    balance = 1.0 if h is None else float((h @ values.mT).norm() / (h @ keys.mT).norm())
    factors = Factors.of(torch.cat((balance * keys, values)), h)
    return Joint(factors, (W_K.shape, W_V.shape), balance)


def separate(W_K: Tensor, W_V: Tensor) -> Separate:
    """Return the factors of W_K [g,k,d] and of W_V [g,v,d], each by itself.

    Raises:
        ValueError: the two do not read the same h.
    """
    _check(W_K, W_V)
    keys, values = (Factors.of(weight.flatten(0, 1)) for weight in (W_K, W_V))
    return Separate(keys, values, (W_K.shape, W_V.shape))


def _check(W_K: Tensor, W_V: Tensor) -> None:
    for name, weight in (("W_K", W_K), ("W_V", W_V)):
        checks.kind(name, weight, Tensor, Phrase("head_weights"))
        if weight.ndim != 3:
            raise RefusedError("weight_axes", name=name, shape=list(weight.shape))
    if W_K.shape[::2] != W_V.shape[::2]:
        raise RefusedError("kv_weights", keys=list(W_K.shape), values=list(W_V.shape))


def with_spectrum(W_K: Tensor, W_V: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Return W_K and W_V with the singular values of W_K over W_V made to fall as i^-decay.

    Their directions and their overall size (Frobenius norm) stay.

    Raises:
        ValueError: a decay below 0, or weights that do not fit each other.
    """
    checks.non_negative("decay", decay)
    found = joint(W_K, W_V)
    values = found.factors.singular_values
    wanted = torch.arange(1, found.most + 1, device=values.device).double() ** -decay
    wanted *= values.norm() / wanted.norm()
    factor = torch.where(values > 1e-8 * values[0], wanted / values, 0.0)
    vectors, matrix = found.factors.vectors, found.factors.matrix
    between = ((vectors * factor) @ vectors.mT).to(matrix.dtype)  # on the matrix's smaller side
    return _parted(matrix @ between if found.factors.tall else between @ matrix, found.shapes)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Relative RMS errors that a latent of `rank` numbers brings."""

    rank: int
    k: float
    v: float
    scores: float  # before the softmax, where the query sees the key
    u: float


def loss(
    layer: GroupedQueryAttention, h: Tensor, way: Joint | Separate, ranks: Sequence[int]
) -> list[Loss]:
    """Run a layer with its keys and values out of latents, and compare with the layer itself.

    Rotation, norms and biases are the layer's own and stay as they are.

    Args:
        layer: any MHA, GQA or MQA; its weights are not changed.
        h: hidden states [b,t,d].
        way: `joint` or `separate` of the layer's W_K and W_V.
        ranks: sizes of the latent.

    Raises:
        ValueError, MemoryBudgetError: a rank that there is not, or as the layer's call.
    """
    for rank in ranks:
        checks.whole("rank", rank, least=0, most=way.most)
    exact = layer(h)
    seen = exact.mask.expand_as(exact.scores)
    w, turn = layer.weights(), turn_of(layer.config, position_numbers(None, h))
    found = []
    for rank in ranks:
        kv = finished(w, *way.keys_and_values(h, rank), per_head(turn))
        trace = forms.attend(w, h, (exact.q_pre, exact.q), kv, exact.mask)
        errors = {
            name: relative_error(getattr(trace, name), getattr(exact, name)) for name in "kvu"
        }
        scores = relative_error(trace.scores[seen], exact.scores[seen])
        found.append(Loss(rank=rank, scores=scores, **errors))
    return found
