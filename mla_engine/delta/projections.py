"""The weights of Kimi Delta Attention, and everything up to what enters and leaves the state."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, silu

from mla_engine.delta.config import DeltaConfig
from mla_engine.layer import AttentionLayer, Places
from mla_engine.ops import output, product, rms_norm
from mla_engine.weights import Weights

EPS = 1e-6  # beside the squares whose root a query or key is divided by: FLA and transformers
LEAST_RATE, MOST_RATE = 1.0, 16.0  # of the decay, where models begin
LEAST_STEP, MOST_STEP = 1e-3, 1e-1  # that its bias stands for there


class DeltaWeights(NamedTuple):
    """The weights that all heads share, and those of the chosen heads."""

    config: DeltaConfig
    W_Q: Tensor
    W_K: Tensor
    W_V: Tensor
    conv_Q: Tensor
    conv_K: Tensor
    conv_V: Tensor
    W_DA: Tensor | None
    W_UA: Tensor
    A_log: Tensor
    b_A: Tensor
    W_B: Tensor
    W_DG: Tensor | None
    W_UG: Tensor
    o_norm: Tensor
    W_O: Tensor


class Tails(NamedTuple):
    """Inputs of earlier tokens that the convolutions still read [b,w-1,h,k]; v for k at the end."""

    q: Tensor
    k: Tensor
    v: Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class InputFields:
    """The fields of a trace from h up to the state: queries, keys, values, decay, strength."""

    h: Tensor  # [b,t,d]
    q_D_pre: Tensor  # [b,t,h,k]
    q_D_conv: Tensor  # [b,t,h,k]
    q_D: Tensor  # [b,t,h,k], of length 1
    k_D_pre: Tensor  # [b,t,h,k]
    k_D_conv: Tensor  # [b,t,h,k]
    k_D: Tensor  # [b,t,h,k], of length 1
    v_D_pre: Tensor  # [b,t,h,v]
    v_D: Tensor  # [b,t,h,v]
    c_A: Tensor | None  # [b,t,i]
    a_pre: Tensor  # [b,t,h,k]
    log_a: Tensor  # [b,t,h,k], at most 0
    a: Tensor  # [b,t,h,k], from 0 to 1
    b: Tensor  # [b,t,h], from 0 to 1


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputFields:
    """The fields of a trace from what the queries read up to u."""

    c_G: Tensor | None  # [b,t,e]
    gate: Tensor  # [b,t,h,v], from 0 to 1
    o_normed: Tensor  # [b,t,h,v]
    o_gated: Tensor  # [b,t,h,v]
    u: Tensor  # [b,t,d]


def wide(x: Tensor) -> Tensor:
    """Convert to max(float32, dtype), in which states, decays and norms are computed and kept."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def project_in(w: DeltaWeights, h: Tensor, tails: Tails) -> tuple[InputFields, Tails]:
    """Make queries, keys, values, decay and strength of h [b,t,d], and the next tails."""
    q_D_pre = product("btd,hkd->bthk", h, w.W_Q)
    k_D_pre = product("btd,hkd->bthk", h, w.W_K)
    v_D_pre = product("btd,hvd->bthv", h, w.W_V)
    q_D_conv, q_tail = convolved(q_D_pre, tails.q, w.conv_Q)
    k_D_conv, k_tail = convolved(k_D_pre, tails.k, w.conv_K)
    v_D, v_tail = convolved(v_D_pre, tails.v, w.conv_V)
    c_A = None if w.W_DA is None else product("btd,id->bti", h, w.W_DA)
    a_pre = wide(product("bti,hki->bthk", h if c_A is None else c_A, w.W_UA)) + w.b_A
    log_a = log_decay(w, a_pre)
    b = wide(product("btd,hd->bth", h, w.W_B)).sigmoid()
    fields = InputFields(
        h=h,
        q_D_pre=q_D_pre,
        q_D_conv=q_D_conv,
        q_D=normalised(q_D_conv),
        k_D_pre=k_D_pre,
        k_D_conv=k_D_conv,
        k_D=normalised(k_D_conv),
        v_D_pre=v_D_pre,
        v_D=v_D,
        c_A=c_A,
        a_pre=a_pre,
        log_a=log_a,
        a=log_a.exp(),
        b=b,
    )
    return fields, Tails(q_tail, k_tail, v_tail)


def convolved(x: Tensor, tail: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """Return the SiLU of each channel's sum over the last w tokens [b,t,h,k], and the new tail.

    Args:
        x: [b,t,h,k].
        tail: the w - 1 tokens before, [b,w-1,h,k]; zeros at the beginning of a text.
        kernel: [h,k,w], the newest token last.
    """
    seen = torch.cat((tail, x), dim=1)
    channels = kernel.flatten(0, 1).unsqueeze(1)
    summed = conv1d(seen.flatten(2).mT, channels, groups=channels.shape[0])
    return silu(summed.mT.unflatten(2, x.shape[2:])), seen[:, x.shape[1] :]


def normalised(x: Tensor) -> Tensor:
    """Return x / sqrt(sum x^2 + 1e-6) over the last axis."""
    x = wide(x)
    return x * (x.square().sum(-1, keepdim=True) + EPS).rsqrt()


def log_decay(w: DeltaWeights, a_pre: Tensor) -> Tensor:
    """Return the logarithm of the decay of each channel [b,t,h,k], at most 0."""
    rate = wide(w.A_log).exp().unsqueeze(-1)
    if w.config.decay_floor is not None:
        return w.config.decay_floor * (rate * a_pre).sigmoid()
    return -rate * torch.logaddexp(a_pre, a_pre.new_zeros(()))  # softplus, exact for large numbers


def project_out(w: DeltaWeights, h: Tensor, o: Tensor) -> OutputFields:
    """Make u of h [b,t,d] and of what the queries read, o [b,t,h,v]."""
    c_G = None if w.W_DG is None else product("btd,ed->bte", h, w.W_DG)
    gate = wide(product("bte,hve->bthv", h if c_G is None else c_G, w.W_UG)).sigmoid()
    o_normed = rms_norm(o, w.o_norm, w.config.norm_eps)
    o_gated = (o_normed * gate).to(h.dtype)
    u = output(o_gated, w.W_O, None, w.config.n_heads)
    return OutputFields(c_G=c_G, gate=gate, o_normed=o_normed, o_gated=o_gated, u=u)


class DeltaProjections(AttentionLayer):
    """The parameters of Kimi Delta Attention.

    Parameters, [out, in], per head [h, out, in]: W_Q [h,k,d], W_K [h,k,d], W_V [h,v,d]; kernels of
    the convolutions conv_Q [h,k,w], conv_K [h,k,w], conv_V [h,v,w]; of the decay W_DA [i,d],
    W_UA [h,k,i], A_log [h], b_A [h,k]; W_B [h,d]; of the output W_DG [e,d], W_UG [h,v,e],
    o_norm [v], W_O [d,h,v]. Without d_decay there is no W_DA, and W_UA is [h,k,d]; the same of
    d_gate, W_DG and W_UG. What a configuration has not is None.
    """

    config_type = DeltaConfig

    def _build(self, weights: Weights) -> None:
        c, heads, shared = self.config, self.heads, weights.shared
        for name, width in (("Q", c.d_head), ("K", c.d_head), ("V", c.d_value)):
            setattr(self, f"W_{name}", self._per_head(weights, f"W_{name}", width, c.d_model))
            kernel = self._per_head(weights, f"conv_{name}", width, c.conv_width)
            setattr(self, f"conv_{name}", kernel)
        self.W_DA = self.W_DG = None
        if c.d_decay:
            self.W_DA = shared("W_DA", c.d_decay, c.d_model, fan_in=c.d_model)
        if c.d_gate:
            self.W_DG = shared("W_DG", c.d_gate, c.d_model, fan_in=c.d_model)
        self.W_UA = self._per_head(weights, "W_UA", c.d_head, c.d_decay or c.d_model)
        self.W_UG = self._per_head(weights, "W_UG", c.d_value, c.d_gate or c.d_model)
        self.W_B = self._per_head(weights, "W_B", c.d_model, fan_in=c.d_model)
        self.A_log, self.b_A = self._decay(weights)
        self.o_norm = weights.ones(c.d_value)
        d_out = c.n_heads * c.d_value
        self.W_O = weights.per_head("W_O", heads, c.d_model, c.d_value, fan_in=d_out, axis=1)

    def _per_head(
        self, weights: Weights, name: str, *shape: int, fan_in: int | None = None
    ) -> nn.Parameter:
        return weights.per_head(name, self.heads, *shape, fan_in=fan_in or shape[-1])

    def _decay(self, weights: Weights) -> tuple[nn.Parameter, nn.Parameter]:
        """Return A_log and b_A as models start them: rates and steps that are evenly spread."""
        drawn = self._per_head(weights, "A_log", 1, fan_in=1).flatten()
        rates = LEAST_RATE + (MOST_RATE - LEAST_RATE) * _evenly(drawn)
        drawn = self._per_head(weights, "b_A", self.config.d_head, fan_in=1)
        least, most = math.log(LEAST_STEP), math.log(MOST_STEP)
        steps = (least + (most - least) * _evenly(drawn)).exp()
        biases = steps + (-torch.expm1(-steps)).log()  # softplus makes the steps of these
        parameters = (x.to(weights.dtype) for x in (rates.log(), biases))
        return tuple(nn.Parameter(x, requires_grad=False) for x in parameters)

    def weights(self, heads: Places = slice(None)) -> DeltaWeights:
        """Return the weights of the heads at these places among those built."""
        shared = {name: getattr(self, name) for name in ("config", "W_DA", "W_DG", "o_norm")}
        own = (name for name in DeltaWeights._fields if name not in shared and name != "W_O")
        per_head = {name: getattr(self, name)[heads] for name in own}
        return DeltaWeights(**shared, **per_head, W_O=self.W_O[:, heads])


def _evenly(drawn: Tensor) -> Tensor:
    """Return normal numbers as numbers evenly spread between 0 and 1, by their distribution."""
    return 0.5 * (1 + torch.erf(wide(drawn) / math.sqrt(2)))
