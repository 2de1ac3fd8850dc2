"""A model's file: what is written is read again, and what is none is refused by name."""

import json

import pytest
import torch
from safetensors.torch import load, save

from kvcount.files.errors import CheckpointError
from mla_engine.language_model import load_model, save_model
from mla_engine.language_model.storage import FORMAT, dump, parse
from tests.language_model.samples import ATTENTIONS, MLA, model, text


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_what_is_written_is_read_again(attention, tmp_path):
    decoder, path = model(attention, torch.float32), tmp_path / "model.safetensors"
    save_model(decoder, path, {"steps": 7, "named": "é"})
    again, card = load_model(path)
    assert card == {"steps": 7, "named": "é"}
    assert again.config == decoder.config
    assert torch.equal(again(text()).logits, decoder(text()).logits)
    assert not any(weight.requires_grad for weight in again.parameters())
    assert list(tmp_path.iterdir()) == [path]


def test_half_the_bytes_give_nearly_the_same_model():
    decoder = model(MLA, torch.float32)
    small = dump(decoder, {}, torch.float16)
    assert len(small) < 0.6 * len(dump(decoder, {}))
    again, _ = parse(small, "x")
    torch.testing.assert_close(again(text()).logits, decoder(text()).logits, rtol=0, atol=1e-2)


def changed(change):
    content = dump(model(MLA, torch.float32), {"steps": 1})
    length = int.from_bytes(content[:8], "little")
    about = json.loads(content[8 : 8 + length])["__metadata__"]
    weights = load(content)
    change(weights, about)
    return save(weights, about)


def of_config(change):
    def edit(_weights, about):
        told = json.loads(about["about"])
        change(told["config"])
        about["about"] = json.dumps(told)

    return edit


WHOLE = dump(model(MLA, torch.float32), {})
BROKEN = {
    "empty": (b"", "beginning is damaged"),
    "cut": (WHOLE[:-9], "not"),
    "no header": (b"\xff" * 64, "beginning is damaged"),
    "cut within the header": (WHOLE[:100], "beginning is damaged"),
    "of others": (save({"x": torch.ones(2)}), FORMAT),
    "no card": (changed(lambda _, about: about.pop("about")), "beginning is damaged"),
    "no layers": (changed(of_config(lambda c: c.pop("n_layers"))), "n_layers"),
    "odd sizes": (changed(of_config(lambda c: c.update(n_layers=-1))), "n_layers"),
    "no mechanism": (changed(of_config(lambda c: c.update(mechanism="x"))), "mechanism"),
    "missing": (changed(lambda w, _: w.pop("W_E")), "W_E should be"),
    "foreign": (changed(lambda w, _: w.update(odd=torch.ones(1))), "odd should be no such weight"),
    "another shape": (changed(lambda w, _: w.update(norm=torch.ones(3))), r"norm should be \[24\]"),
    "not finite": (changed(lambda w, _: w["W_E"].fill_(torch.nan)), "broken"),
}


@pytest.mark.parametrize(("content", "said"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_model_is_refused_by_name_and_reason(content, said):
    with pytest.raises(CheckpointError, match=rf"odd\.safetensors is no model.*{said}"):
        parse(content, "odd.safetensors")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"none\.safetensors"):
        load_model(tmp_path / "none.safetensors")
