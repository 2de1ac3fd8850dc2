"""Of each page the functions of the engine that its present settings ran, the telling ones."""

from collections.abc import Callable, Mapping

import streamlit as st

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    MultiHeadLatentAttention,
    YarnConfig,
    claims,
    conventions,
    costs,
    merging,
    names,
    ops,
    relative,
    rope,
    training,
    words,
    worked_example,
)
from mla_engine import compression as factoring
from mla_engine import quiz as questions
from mla_engine.absorption import AbsorbedMatrices
from mla_engine.agreement import agreement_of
from mla_engine.bracketing import Bracketing, bracketings
from mla_engine.checkpoints import describe, hidden_states, load_attention
from mla_engine.costs import Device, Formula, Serving, calls
from mla_engine.logit_shares import logit_shares
from mla_engine.spectra import spectra
from mla_engine.symbols import Symbol
from mla_engine.worked_example.variants import BUILDERS
from ui import claims as claims_page
from ui import claims_list, compare, compute_page, kv, model, overview, source, state, stepper
from ui import compression as compression_page
from ui import rope as rope_page

Functions = tuple[Callable, ...]
FEW = 3  # statements whose checks are shown

_LATENT = (
    MultiHeadLatentAttention._prefill,
    MultiHeadLatentAttention._queries,
    MultiHeadLatentAttention._latents,
)
FORWARD: Mapping[str, Functions] = {
    "expanded": (
        *_LATENT,
        MultiHeadLatentAttention._up_projected,
        MultiHeadLatentAttention._attend,
    ),
    "absorbed": (*_LATENT, MultiHeadLatentAttention._absorbed),
    "grouped": (
        GroupedQueryAttention._prefill,
        GroupedQueryAttention._keys,
        GroupedQueryAttention._attend,
    ),
}


def functions(page: str) -> Functions:
    """What the page ran.

    Raises:
        ValueError: these settings run nothing.
    """
    return tuple(dict.fromkeys(OF_PAGE[page]()))


def _form() -> str:
    return overview.FORMS.get(model.present_variant(), "grouped")


def _overview() -> Functions:
    overview.of(model.config())  # refuses what cannot be
    counts = costs.cache_elements, costs.mha_cache_elements, costs.parameters
    return (*counts, *FORWARD[_form()])


def _worked_example() -> Functions:
    variant = stepper.scene().variant
    counted = () if variant.endswith("_completed") else (worked_example.printed_count,)
    return (worked_example.steps, BUILDERS[variant], *counted)


def _attention_maps() -> Functions:
    config = model.config()
    turned = (rope.rotate,) if config.rope and getattr(config, "d_rope", 1) else ()
    read = (load_attention, hidden_states) if source.chosen() else (words.hidden_states,)
    return (*FORWARD[_form()], *turned, ops.softmax, *read)


def _rope() -> Functions:
    one, s = rope_page.head(), state.settings()
    topic = s["rope_topic"]
    if topic == "turning":
        return relative.turned, rope.rotate, rope.rotation, relative.diagonal_spread
    if topic == "merged":
        return relative.rotated_merge, relative.change_with_distance, rope.rotate
    if topic == "yarn":
        yarn = isinstance(one.rope.scaling, YarnConfig)
        magnitudes = (rope._yarn, YarnConfig.magnitude, YarnConfig.softmax_magnitude.fget)
        return (rope.inverse_frequencies, *(magnitudes if yarn else ()))
    moved = topic == "pairing" and s["rope_pairing"] in ("regrouped", "layout")
    return (
        conventions.position_logits,
        *((conventions.stored_for,) if moved else ()),
        conventions.scaled_logits,
        conventions.unharmed,
        conventions.whole_places,
    )


def _absorption() -> Functions:
    model.config("mla")
    return (
        bracketings,
        Bracketing.multiply_adds.fget,
        AbsorbedMatrices.of,
        agreement_of,
        MultiHeadLatentAttention._attend,
        MultiHeadLatentAttention._absorbed,
        merging.heads_in_one,
        merging.past_the_norm,
    )


def _compression() -> Functions:
    compression_page.layer_config()
    latent = compression_page.own_latent()
    spectrum = state.settings()["cmp_weights"] == "spectrum"
    return (
        *((merging.content_attention,) if latent else ()),
        *((factoring.with_spectrum,) if spectrum else ()),
        factoring.joint,
        factoring.Factors.of,
        factoring.Joint.weights,
        factoring.separate,
        factoring.Separate.ranks,
        factoring.loss,
        training.query_memory,
    )


def _kv_cache() -> Functions:
    fits = Serving.free_bytes, Serving.token_bytes, Serving.rank_weight_bytes
    return {
        "context": (costs.cache_bytes_per_token, costs.cache_elements, *_appended()),
        "memory": (
            *(part.fget for part in fits),
            Serving.held_bytes,
            Serving.longest_context,
            Serving.largest_batch,
        ),
        "layouts": (costs.layouts,),
        "parallel": (costs.rank_cache_elements, Serving.rank_sequences, Serving.held_bytes),
        "formula": (costs.formulas, Formula.off, costs.cache_elements),
    }[state.settings()["kv_view"]]


def _appended() -> Functions:
    """What fills the caches behind the dots, where there are some."""
    return (LatentCache.append, KVCache.append) if kv.scenes()[0].points() else ()


def _decode() -> Functions:
    compute_page.ways(decoding=True)
    latent = MultiHeadLatentAttention
    return (
        latent._decode_latent,
        latent._absorbed,
        LatentCache.append,
        latent._decode_in_full,
        GroupedQueryAttention._decode,
        KVCache.append,
        costs.decode,
    )


def _compute() -> Functions:
    shown = compute_page.scene()
    call = costs.decode if shown.decoding else costs.prefill
    bounds = Device.attainable, Device.seconds
    return (call, calls._cost, *bounds, costs.expanding_wins, costs.attention_turns)


def _real_models() -> Functions:
    shown = (load_attention, hidden_states)
    if not source.chosen():
        return (describe,)
    return (*shown, *(() if isinstance(model.config(), GroupedConfig) else (logit_shares, spectra)))


def _compare() -> Functions:
    sides = [compare.side(letter) for letter in compare.SIDES]
    view = state.settings()["vs_view"]
    if view == "costs":
        return costs.cache_elements, costs.decode, costs.prefill, calls._cost
    run = [function for side in sides for function in FORWARD[side.form]]
    return (costs.cache_elements, *run, *((ops.softmax,) if view == "maps" else ()))


def _claims() -> Functions:
    shown = claims_list.shown(claims_page.findings(st.empty()))
    checks = [claims._CHECKS[finding.id] for finding in shown]
    return (claims.check, claims.judge, *(checks if len(checks) <= FEW else ()))


def _quiz() -> Functions:
    s = state.settings()
    kind = questions.order(s["quiz_seed"])[s["quiz_number"] - 1]
    return questions.order, questions.question, questions.KINDS[kind]


def _notation() -> Functions:
    model.config()
    return Symbol.step, names.citation, *FORWARD[_form()]


OF_PAGE: Mapping[str, Callable[[], Functions]] = {
    "overview": _overview,
    "worked_example": _worked_example,
    "attention_maps": _attention_maps,
    "rope": _rope,
    "absorption": _absorption,
    "compression": _compression,
    "kv_cache": _kv_cache,
    "decode": _decode,
    "compute": _compute,
    "compare": _compare,
    "real_models": _real_models,
    "claims": _claims,
    "quiz": _quiz,
    "notation": _notation,
}
