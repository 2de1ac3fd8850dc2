"""A refusal of the engine is said on the screen in the reader's language."""

import pytest

from mla_engine.refusals import RefusedError, sentence
from tests.ui.screen import refusal
from ui.engine.folders import inside


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_why_a_real_layer_cannot_be_read_is_said_in_the_readers_language(opened, lang):
    with pytest.raises(RefusedError) as refused:
        inside("../no such *model*")
    at = opened("pages/real_models.py", source="../no such *model*", lang=lang)
    assert sentence(refused.value, lang) in refusal(at)
