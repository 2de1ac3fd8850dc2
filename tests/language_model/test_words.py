"""The words of a model: known ones, unknown ones and what is offered in their place."""

import pytest

from kvcount.refusals import sentence
from mla_engine.language_model import ModelConfig, WordError
from tests.language_model.samples import MLA, WORDS, config
from tests.refusals import refusing


def test_words_become_numbers_and_words_again():
    known = config(MLA)
    tokens = known.tokens("  Anna has\n a lamp .")
    assert [WORDS[token] for token in tokens] == ["anna", "has", "a", "lamp", "."]
    assert known.text(tokens) == "anna has a lamp ."


def test_unknown_words_are_named_and_the_nearest_are_offered():
    with pytest.raises(WordError) as refused:
        config(MLA).tokens("anna hass a lam . <b>")
    assert str(refused.value) == "the model does not know “hass”, “lam”, “<b>”: try has, lamp"
    assert "请试 has, lamp" in sentence(refused.value, "zh")
    with refusing("choose_words"):
        config(MLA).tokens("qqqq")
    with pytest.raises(WordError, match="no words"):
        config(MLA).tokens(" ")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"words": ()}, "at least one"),
        ({"words": ("a", "b", "a")}, r"\['a', 'a'\]"),
        ({"n_layers": 0}, "n_layers"),
        ({"d_mlp": 1.5}, "d_mlp"),
        ({"attention": 3}, "GroupedConfig"),
        ({"norm_eps": 0}, "norm_eps"),
    ],
)
def test_a_model_that_cannot_be_is_refused(changed, said):
    sizes = {"words": WORDS, "attention": MLA, "n_layers": 1, "d_mlp": 4, "max_context": 8}
    with pytest.raises(ValueError, match=said):
        ModelConfig(**sizes | changed)
