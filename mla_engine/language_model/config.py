"""The words and the sizes of a small decoder."""

from dataclasses import dataclass
from difflib import get_close_matches

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError
from mla_engine import mechanisms
from mla_engine.config import AttentionConfig

__all__ = ["ModelConfig", "WordError"]


class WordError(RefusedError):
    """Words that a model does not know."""

    section = "text"


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A decoder: embedding, n_layers of attention and SwiGLU under RMSNorms, tied output.

    Letters beside those of the attention: f (d_mlp) and n (the words).

    Attributes:
        words: the vocabulary; a token is a place in it.
        attention: of every layer, of any mechanism; gives d_model.
        n_layers: blocks of attention and SwiGLU.
        d_mlp: width of the SwiGLU.
        max_context: tokens that the model was trained on at once.
        norm_eps: of the RMSNorms of the residual stream.

    Raises:
        ValueError: a size that cannot be, a word that stands twice, no configuration.
    """

    words: tuple[str, ...]
    attention: AttentionConfig
    n_layers: int
    d_mlp: int
    max_context: int
    norm_eps: float = 1e-6

    def __post_init__(self) -> None:
        mechanisms.of(self.attention)
        for name in ("n_layers", "d_mlp", "max_context"):
            checks.whole(name, getattr(self, name))
        checks.positive("norm_eps", self.norm_eps)
        twice = [word for word in self.words if self.words.count(word) > 1]
        if not self.words or twice:
            raise RefusedError("vocabulary", words=len(self.words), twice=twice[:3])

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return self.attention.d_model

    def tokens(self, text: str) -> list[int]:
        """Return the numbers of the words of a text, which are parted by spaces.

        Raises:
            WordError: no words, or words that there are not, with the nearest that there are.
        """
        written, places = text.lower().split(), {word: i for i, word in enumerate(self.words)}
        if not written:
            raise WordError("no_words")
        unknown = [word for word in dict.fromkeys(written) if word not in places]
        if unknown:
            nearest = (get_close_matches(word[:40], self.words, n=3) for word in unknown)
            near = dict.fromkeys(close for words in nearest for close in words)
            tries = Phrase("try_words", listed=", ".join(near)) if near else Phrase("choose_words")
            listed = ", ".join(f"“{word[:40]}”" for word in unknown[:4])
            raise WordError("unknown_words", listed=listed, tries=tries)
        return [places[word] for word in written]

    def text(self, tokens: list[int]) -> str:
        """Return the words of these numbers, parted by spaces."""
        return " ".join(self.words[token] for token in tokens)
