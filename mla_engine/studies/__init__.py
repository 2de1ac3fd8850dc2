"""Studies of attention beside the core, which imports none of them: one module a question."""

from mla_engine.studies import conventions, relative
from mla_engine.studies.words import generated_words, hidden_states, words_of

__all__ = ["conventions", "generated_words", "hidden_states", "relative", "words_of"]
