"""A tokenizer.json that is nearly right, or means harm: tokens, or one sentence.

The library may abort, panic or compute for hours: it runs in a worker, whose end is a sentence too.
"""

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcount.refusals import RefusedError
from mla_engine.checkpoints import HiddenStates
from tests.attacks.nearly import fuzz, junk, mutated, outcome, texts_of
from tests.sampling import many
from ui.engine.workers import access
from ui.engine.workers.limits import GIB, Limits
from ui.engine.workers.pool import ask

SHORT = Limits(cpu_seconds=2, silent_seconds=120.0, memory_bytes=GIB)
TEXT = "The cat sat on the mat, and looked at the moon 1234 times."


def replacing(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


patterns = st.one_of(
    st.sampled_from(["a", " ", "", "t"]).map(lambda text: {"String": text}),
    st.sampled_from(["(a|a)*$", "(.*)*x", ".", "", "[", "(?=)", "\\p{L}+", "(x+x+)+y"]).map(
        lambda text: {"Regex": text}
    ),
)
contents = st.sampled_from(["", "a", "aa", "tt" * 50, "a" * 1000])
normalizers = st.one_of(
    st.lists(st.builds(replacing, patterns, contents), max_size=12).map(
        lambda rules: {"type": "Sequence", "normalizers": rules}
    ),
    st.text(max_size=12).map(lambda text: {"type": "Precompiled", "precompiled_charsmap": text}),
    st.sampled_from([{"type": "Prepend", "prepend": "x" * 10_000}, {"type": "NFKD"}, None]),
)
splits = st.builds(
    lambda pattern, how: {"type": "Split", "pattern": pattern, "behavior": how, "invert": False},
    patterns,
    st.sampled_from(["Isolated", "Removed", "MergedWithNext", "Contiguous"]),
)


@pytest.fixture(scope="module")
def folder(demo, models):
    """A copy of the demonstration model in the folder that may be read."""
    return shutil.copytree(demo, models / "another tokenizer")


@pytest.fixture(scope="module")
def tokenizer(folder):
    """Return the tokenizer as it was, with a vocabulary that can be looked through."""
    valid = json.loads((folder / "tokenizer.json").read_text())
    few = dict(list(valid["model"]["vocab"].items())[:300])
    kept = [pair for pair in valid["model"]["merges"] if "".join(pair) in few]
    valid["model"] |= {"vocab": few, "merges": kept}
    return valid


def tokens_of(folder, valid):
    (folder / "tokenizer.json").write_bytes(valid)
    place = access.folder(str(folder), "")
    return outcome(lambda: ask("inputs", place, SHORT, text=TEXT, layer=0, activations=None))


def test_the_tokenizer_that_is_changed_is_good(folder, tokenizer):
    assert len(tokens_of(folder, json.dumps(tokenizer).encode()).tokens) > 10


@fuzz(many(20, 60))
@given(data=st.data())
def test_a_tokenizer(folder, tokenizer, data):
    harm = {
        "normalizer": normalizers,
        "pre_tokenizer": splits | st.just(tokenizer["pre_tokenizer"]),
    }
    harmful = tokenizer | {name: data.draw(part) for name, part in harm.items()}
    text = data.draw(texts_of(mutated(harmful) | st.just(harmful)) | texts_of(junk))
    assert isinstance(tokens_of(folder, text), HiddenStates | RefusedError)
