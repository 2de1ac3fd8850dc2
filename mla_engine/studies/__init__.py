"""Studies of attention beside the core, which imports none of them: one module a question."""

from mla_engine.studies import (
    agreement,
    bracketing,
    compression,
    conventions,
    logit_shares,
    merging,
    relative,
    spectra,
    split_latents,
    training,
    transmla,
    words,
)
from mla_engine.studies.words import generated_words, hidden_states, words_of

__all__ = [
    "agreement",
    "bracketing",
    "compression",
    "conventions",
    "generated_words",
    "hidden_states",
    "logit_shares",
    "merging",
    "relative",
    "spectra",
    "split_latents",
    "training",
    "transmla",
    "words",
    "words_of",
]
