"""SYMBOLS, the one glossary: every weight and every trace field, as data that tests check.

Where the paper (DeepSeek-V2, arXiv 2405.04434) has superscripts the code has a suffix after one
underscore: c^KV is c_KV. Our l, the width of c_Q, is the paper's d_c'; our r is its d_h^R.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

SIZES = {
    "d": "d_model",
    "h": "n_heads",
    "g": "n_kv_heads",
    "k": "d_head",
    "r": "d_rope",
    "v": "d_value",
    "c": "d_latent_kv",
    "l": "d_latent_q",
}
"""The size in a configuration that an axis letter stands for; b, t and s come from the call."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """How a tensor arises in one form.

    `formula` is LaTeX; `inputs` are codes, weights first; `einsum`, where the step is a contraction
    of its first two inputs, says which (biases, scales and the causal mask left out).
    """

    formula: str = ""
    inputs: tuple[str, ...] = ()
    einsum: str | None = None


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A tensor: its names, axes and origin.

    `steps` holds how it arises by form: "expanded", "absorbed", "grouped". `role` picks its colour:
    input, query, key, value, latent, rope, score, output or weight. `instead` is the tensor that
    stands in its place where a configuration has none. `alias` is the name in checkpoints.
    """

    code: str
    latex: str
    axes: str
    meaning: str
    role: str
    alias: str = ""
    cached: bool = False
    instead: str | None = None
    steps: dict[str, Step] = field(default_factory=dict)

    def step(self, form: str | None = None) -> Step:
        """How it arises in this form; weights and h just are."""
        return self.steps.get(form) or next(iter(self.steps.values()), Step())

    @property
    def formula(self) -> str:
        """LaTeX of the first form that has it."""
        return self.step().formula

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it is computed from in the first form that has it."""
        return self.step().inputs


EVERY_LATENT = ("expanded", "absorbed")


def _table(*symbols: Symbol) -> dict[str, Symbol]:
    return {symbol.code: symbol for symbol in symbols}


def _weight(code: str, axes: str, meaning: str, alias: str, latex: str = "") -> Symbol:
    name, _, suffix = code.partition("_")
    latex = latex or rf"{name}^{{{suffix}}}"
    return Symbol(code=code, latex=latex, axes=axes, meaning=meaning, role="weight", alias=alias)


def _tensor(
    code: str,
    axes: str,
    role: str,
    latex: str,
    meaning: str,
    steps: dict[str | tuple[str, ...], Step],
    **more: object,
) -> Symbol:
    by_form = {
        form: step
        for forms, step in steps.items()
        for form in ((forms,) if isinstance(forms, str) else forms)
    }
    return Symbol(
        code=code, axes=axes, role=role, latex=latex, meaning=meaning, steps=by_form, **more
    )


def _step(formula: str, *inputs: str, einsum: str | None = None) -> Step:
    return Step(formula=formula, inputs=inputs, einsum=einsum)


_SHARED = _table(
    _tensor(
        "h",
        "b t d",
        "input",
        r"\mathbf{h}",
        "hidden state of each token",
        {},
        alias="hidden_states",
    ),
    _tensor("mask", "t s", "score", r"M", "which keys a query sees: itself and earlier ones", {}),
    _tensor(
        "attention",
        "b h t s",
        "score",
        r"\alpha",
        "share of each key in a query's output",
        {
            EVERY_LATENT: _step(
                r"\operatorname{softmax}_s(\mathrm{scores}^{C} + \mathrm{scores}^{R})",
                "scores_C",
                "scores_R",
            ),
            "grouped": _step(r"\operatorname{softmax}_s(\mathrm{scores})", "scores"),
        },
    ),
    _tensor(
        "o",
        "b t h v",
        "output",
        r"\mathbf{o}",
        "output of each head",
        {
            "expanded": _step(
                r"\sum_s \alpha_{ts}\, \mathbf{v}^{C}_{s}",
                "attention",
                "v_C",
                einsum="bhts,bshv->bthv",
            ),
            "absorbed": _step(
                r"W^{UV} \mathbf{o}^{\mathrm{latent}}", "W_UV", "o_latent", einsum="hvc,bthc->bthv"
            ),
            "grouped": _step(r"\sum_s \alpha_{ts}\, \mathbf{v}_{s}", "attention", "v"),
        },
    ),
    _tensor(
        "u",
        "b t d",
        "output",
        r"\mathbf{u}",
        "output of the layer",
        {
            (*EVERY_LATENT, "grouped"): _step(
                r"W^{O} [\mathbf{o}_{1}; \ldots; \mathbf{o}_{n_h}]",
                "W_O",
                "o",
                einsum="dhv,bthv->btd",
            ),
        },
    ),
    _weight("W_O", "d h v", "output projection", "o_proj"),
    _weight("b_O", "d", "bias of the output", "o_proj.bias", r"b^{O}"),
)

_LATENT = _table(
    _weight("W_DQ", "l d", "down-projection of the queries", "q_a_proj"),
    _weight("b_DQ", "l", "bias of the query latent", "q_a_proj.bias"),
    _weight("c_Q_norm", "l", "weight of the RMSNorm on c_Q", "q_a_layernorm", r"\gamma^{Q}"),
    _weight(
        "W_UQ",
        "h k l",
        "up-projection to the content queries",
        "q_b_proj, first d_head rows a head",
    ),
    _weight(
        "W_QR", "h r l", "projection to the rotary queries", "q_b_proj, last d_rope rows a head"
    ),
    _weight(
        "W_DKV",
        "c d",
        "down-projection to the shared latent of keys and values",
        "kv_a_proj_with_mqa, first d_latent_kv rows",
    ),
    _weight("b_DKV", "c", "bias of the latent", "kv_a_proj_with_mqa.bias"),
    _weight("c_KV_norm", "c", "weight of the RMSNorm on c_KV", "kv_a_layernorm", r"\gamma^{KV}"),
    _weight(
        "W_KR", "r d", "projection to the one rotary key", "kv_a_proj_with_mqa, last d_rope rows"
    ),
    _weight("b_KR", "r", "bias of the rotary key", "kv_a_proj_with_mqa.bias"),
    _weight(
        "W_UK", "h k c", "up-projection to the content keys", "kv_b_proj, first d_head rows a head"
    ),
    _weight("W_UV", "h v c", "up-projection to the values", "kv_b_proj, last d_value rows a head"),
    _weight("W_QK", "h l c", "W_UQ and W_UK of a head, merged", "", r"{W^{UQ}}^{\top} W^{UK}"),
    _weight("W_VO", "h d c", "W_O and W_UV of a head, merged", "", r"W^{O} W^{UV}"),
    _tensor(
        "c_Q_pre",
        "b t l",
        "latent",
        r"\mathbf{c}^{Q}_{\mathrm{pre}}",
        "query latent before its norm",
        {
            EVERY_LATENT: _step(r"W^{DQ} \mathbf{h}", "W_DQ", "h", einsum="ld,btd->btl"),
        },
        instead="h",
    ),
    _tensor(
        "c_Q",
        "b t l",
        "latent",
        r"\mathbf{c}^{Q}",
        "query latent, not cached",
        {
            EVERY_LATENT: _step(
                r"\operatorname{RMSNorm}(\mathbf{c}^{Q}_{\mathrm{pre}})", "c_Q_norm", "c_Q_pre"
            ),
        },
        alias="q_a_layernorm(q_a_proj)",
        instead="h",
    ),
    _tensor(
        "q_C",
        "b t h k",
        "query",
        r"\mathbf{q}^{C}",
        "content part of the query",
        {
            EVERY_LATENT: _step(r"W^{UQ} \mathbf{c}^{Q}", "W_UQ", "c_Q", einsum="hkl,btl->bthk"),
        },
        alias="q_nope",
    ),
    _tensor(
        "q_C_absorbed",
        "b t h c",
        "query",
        r"\tilde{\mathbf{q}}^{C}",
        "content query, moved into latent space",
        {
            "absorbed": _step(
                r"{W^{UK}}^{\top} \mathbf{q}^{C}", "W_UK", "q_C", einsum="hkc,bthk->bthc"
            ),
        },
        alias="ql_nope",
    ),
    _tensor(
        "q_R_pre",
        "b t h r",
        "rope",
        r"\mathbf{q}^{R}_{\mathrm{pre}}",
        "rotary query before its rotation",
        {
            EVERY_LATENT: _step(r"W^{QR} \mathbf{c}^{Q}", "W_QR", "c_Q", einsum="hrl,btl->bthr"),
        },
    ),
    _tensor(
        "q_R",
        "b t h r",
        "rope",
        r"\mathbf{q}^{R}",
        "position part of the query",
        {
            EVERY_LATENT: _step(r"\operatorname{RoPE}(\mathbf{q}^{R}_{\mathrm{pre}})", "q_R_pre"),
        },
        alias="q_pe",
    ),
    _tensor(
        "c_KV_pre",
        "b s c",
        "latent",
        r"\mathbf{c}^{KV}_{\mathrm{pre}}",
        "latent of keys and values before its norm",
        {
            EVERY_LATENT: _step(r"W^{DKV} \mathbf{h}", "W_DKV", "h", einsum="cd,bsd->bsc"),
        },
    ),
    _tensor(
        "c_KV",
        "b s c",
        "latent",
        r"\mathbf{c}^{KV}",
        "shared latent of keys and values",
        {
            EVERY_LATENT: _step(
                r"\operatorname{RMSNorm}(\mathbf{c}^{KV}_{\mathrm{pre}})", "c_KV_norm", "c_KV_pre"
            ),
        },
        alias="kv_a_layernorm(kv_a_proj_with_mqa)",
        cached=True,
    ),
    _tensor(
        "k_C",
        "b s h k",
        "key",
        r"\mathbf{k}^{C}",
        "content part of the key",
        {
            "expanded": _step(r"W^{UK} \mathbf{c}^{KV}", "W_UK", "c_KV", einsum="hkc,bsc->bshk"),
        },
        alias="k_nope",
    ),
    _tensor(
        "v_C",
        "b s h v",
        "value",
        r"\mathbf{v}^{C}",
        "value",
        {
            "expanded": _step(r"W^{UV} \mathbf{c}^{KV}", "W_UV", "c_KV", einsum="hvc,bsc->bshv"),
        },
        alias="value_states",
    ),
    _tensor(
        "k_R_pre",
        "b s r",
        "rope",
        r"\mathbf{k}^{R}_{\mathrm{pre}}",
        "rotary key before its rotation",
        {
            EVERY_LATENT: _step(r"W^{KR} \mathbf{h}", "W_KR", "h", einsum="rd,bsd->bsr"),
        },
    ),
    _tensor(
        "k_R",
        "b s r",
        "rope",
        r"\mathbf{k}^{R}",
        "position part of the key, one for all heads",
        {
            EVERY_LATENT: _step(r"\operatorname{RoPE}(\mathbf{k}^{R}_{\mathrm{pre}})", "k_R_pre"),
        },
        alias="k_pe",
        cached=True,
    ),
    _tensor(
        "scores_C",
        "b h t s",
        "score",
        r"\mathrm{scores}^{C}",
        "content part of the logits, scaled",
        {
            "expanded": _step(
                r"\mathrm{scale} \cdot \mathbf{q}^{C} \cdot \mathbf{k}^{C}",
                "q_C",
                "k_C",
                einsum="bthk,bshk->bhts",
            ),
            "absorbed": _step(
                r"\mathrm{scale} \cdot \tilde{\mathbf{q}}^{C} \cdot \mathbf{c}^{KV}",
                "q_C_absorbed",
                "c_KV",
                einsum="bthc,bsc->bhts",
            ),
        },
    ),
    _tensor(
        "scores_R",
        "b h t s",
        "score",
        r"\mathrm{scores}^{R}",
        "position part of the logits, scaled",
        {
            EVERY_LATENT: _step(
                r"\mathrm{scale} \cdot \mathbf{q}^{R} \cdot \mathbf{k}^{R}",
                "q_R",
                "k_R",
                einsum="bthr,bsr->bhts",
            ),
        },
    ),
    _tensor(
        "scores",
        "b h t s",
        "score",
        r"\mathrm{scores}",
        "logits that enter the softmax",
        {
            EVERY_LATENT: _step(
                r"\mathrm{scores}^{C} + \mathrm{scores}^{R}", "scores_C", "scores_R"
            ),
            "grouped": _step(r"\mathrm{scale} \cdot \mathbf{q} \cdot \mathbf{k}", "q", "k"),
        },
    ),
    _tensor(
        "o_latent",
        "b t h c",
        "latent",
        r"\mathbf{o}^{\mathrm{latent}}",
        "output of each head in latent space",
        {
            "absorbed": _step(
                r"\sum_s \alpha_{ts}\, \mathbf{c}^{KV}_{s}",
                "attention",
                "c_KV",
                einsum="bhts,bsc->bthc",
            ),
        },
    ),
)

_GROUPED = _table(
    _weight("W_Q", "h k d", "projection to the queries", "q_proj"),
    _weight("W_K", "g k d", "projection to the keys", "k_proj"),
    _weight("W_V", "g v d", "projection to the values", "v_proj"),
    _weight("b_Q", "h k", "bias of the queries", "q_proj.bias"),
    _weight("b_K", "g k", "bias of the keys", "k_proj.bias"),
    _weight("b_V", "g v", "bias of the values", "v_proj.bias"),
    _weight("q_norm", "k", "weight of the RMSNorm on each query", "q_norm", r"\gamma^{q}"),
    _weight("k_norm", "k", "weight of the RMSNorm on each key", "k_norm", r"\gamma^{k}"),
    _tensor(
        "q_pre",
        "b t h k",
        "query",
        r"\mathbf{q}_{\mathrm{pre}}",
        "query before norm and rotation",
        {
            "grouped": _step(r"W^{Q} \mathbf{h}", "W_Q", "h", einsum="hkd,btd->bthk"),
        },
    ),
    _tensor(
        "q",
        "b t h k",
        "query",
        r"\mathbf{q}",
        "query",
        {
            "grouped": _step(r"\operatorname{RoPE}(\mathbf{q}_{\mathrm{pre}})", "q_pre"),
        },
        alias="query_states",
    ),
    _tensor(
        "k_pre",
        "b s g k",
        "key",
        r"\mathbf{k}_{\mathrm{pre}}",
        "key before norm and rotation",
        {
            "grouped": _step(r"W^{K} \mathbf{h}", "W_K", "h", einsum="gkd,bsd->bsgk"),
        },
    ),
    _tensor(
        "k",
        "b s g k",
        "key",
        r"\mathbf{k}",
        "key",
        {
            "grouped": _step(r"\operatorname{RoPE}(\mathbf{k}_{\mathrm{pre}})", "k_pre"),
        },
        alias="key_states",
        cached=True,
    ),
    _tensor(
        "v",
        "b s g v",
        "value",
        r"\mathbf{v}",
        "value",
        {
            "grouped": _step(r"W^{V} \mathbf{h}", "W_V", "h", einsum="gvd,bsd->bsgv"),
        },
        alias="value_states",
        cached=True,
    ),
)

SYMBOLS: dict[str, Symbol] = _SHARED | _LATENT | _GROUPED
"""Code name -> Symbol, for every parameter and every trace field."""


def sources(code: str, form: str, present: Collection[str]) -> tuple[str, ...]:
    """The tensors among `present` (the steps of a trace) that `code` was computed from.

    Weights are left out; what a configuration has not is replaced by what stands in its place.
    """
    found = []
    for name in SYMBOLS[code].step(form).inputs:
        stand_in = name if name in present else SYMBOLS[name].instead
        if stand_in in present:
            found.append(stand_in)
    return tuple(found)
