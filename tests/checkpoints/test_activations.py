"""Files of activations: those that the README's recipe saves, and those that are refused."""

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from mla_engine.budget import MemoryBudgetError
from mla_engine.checkpoints import hidden_states
from tests.engine.samples import hidden, refused, relative

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
H = hidden(1, 5, 256, dtype=torch.float32)
RECIPES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
TOKENS = ["a", "<b>", "猫", "␣", ""]


def test_the_recipe_saves_what_a_layer_reads(demo, tmp_path, monkeypatch):
    (recipe,) = (
        code
        for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        if "save_file" in code
    )
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(recipe.replace("models/demo", str(demo)).replace('"auto"', '"float32"'), names)
    found = hidden_states(demo, "", names["layer"], activations="h.safetensors")
    wanted = hidden_states(demo, names["text"], names["layer"])
    assert found.origin == "file"
    assert relative(found.h, wanted.h) < 1e-6
    assert found.positions == wanted.positions
    assert found.tokens == wanted.tokens


def test_the_way_from_a_text_to_shares_in_the_readme_runs(demo, capsys):
    (way,) = (code for code in RECIPES if "load_attention" in code)
    exec(way.replace("models/demo", str(demo)), {})
    needed, shares = capsys.readouterr().out.splitlines()[:2]
    assert needed.startswith("HiddenBytes(read_bytes=")
    assert "␣cat" in shares


@pytest.mark.parametrize("form", ["path", "bytes"])
@pytest.mark.parametrize("h", [H, H[0], H.bfloat16(), H.double()], ids=["3", "2", "bf16", "f64"])
def test_takes_two_or_three_axes_in_any_float(demo, h, form, tmp_path):
    data = save({"h": h, "other": torch.ones(3)}, {"tokens": json.dumps(TOKENS), "layer": "3"})
    (tmp_path / "h.safetensors").write_bytes(data)
    given = data if form == "bytes" else tmp_path / "h.safetensors"
    found = hidden_states(demo, "", 3, activations=given)
    assert torch.equal(found.h, h.float().reshape(1, 5, 256))
    assert (found.tokens, found.positions, found.ids) == (tuple(TOKENS), (0, 1, 2, 3, 4), ())


def test_draws_a_file_s_tokens_like_those_of_a_text(demo):
    data = save({"h": H}, {"tokens": json.dumps([" a", "b\n", "\u202ec", "<i>", ""])})
    found = hidden_states(demo, "", 0, activations=data)
    assert found.tokens == ("␣a", "b↵", "<U+202E>c", "<i>", "")


def test_takes_the_tokens_of_the_text_where_the_file_has_none(demo):
    data = save({"h": H})
    assert hidden_states(demo, "", 0, activations=data).tokens == ("0", "1", "2", "3", "4")
    text = "The cat sat on"
    found = hidden_states(demo, text, 0, activations=data)
    assert found.tokens == hidden_states(demo, text, 0).tokens
    assert len(found.ids) == 5
    with refused("5 tokens", "text has", 2):
        hidden_states(demo, "The", 0, activations=data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (save({"x": H}), ["no tensor h"]),
        (save({"h": H.int()}), ["no tensor h of", "F32"]),
        (save({"h": H[:, :, :200].clone()}), [[1, 5, 200], "256"]),
        (save({"h": H.expand(2, 5, 256).clone()}), [[2, 5, 256], "256"]),
        (save({"h": H[0, 0].clone()}), [[256], "256"]),
        (save({"h": H[:, :0].clone()}), [[1, 0, 256]]),
        (save({"h": torch.zeros(4097, 256).half()}), ["4,097", "4,096"]),
        (save({"h": H / 0}), ["NaN"]),
        (save({"h": H}, {"layer": "2"}), ["layer '2'", "layer 1"]),
        (save({"h": H}, {"tokens": '["a"]'}), ["JSON list of 5"]),
        (save({"h": H}, {"tokens": "[1, 2, 3, 4, 5]"}), ["JSON list of 5"]),
        (save({"h": H}, {"tokens": "{"}), ["JSON list of 5"]),
        (save({"h": H}, {"tokens": json.dumps(["a" * 5000] * 5)}), ["25,000", "20,000"]),
        (save({"h": H})[:-1], ["h"]),
        (b"\xff" * 64, ["header"]),
        (b"", ["too short"]),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_refuses_what_does_not_fit(demo, data, words):
    with refused(*words):
        hidden_states(demo, "", 1, activations=data)


def test_never_opens_another_kind_of_file(demo, tmp_path, monkeypatch):
    pickle = tmp_path / "h.pt"
    pickle.write_bytes(b"cos\nsystem\n.")
    with refused("h.pt", ".safetensors", "never opened"):
        hidden_states(demo, "", 1, activations=pickle)
    with refused("no file", "nowhere.safetensors"):
        hidden_states(demo, "", 1, activations=tmp_path / "nowhere.safetensors")
    for name in ("x" * 5000, "~no_such_user/h"):
        with refused("no file", name[:100]):
            hidden_states(demo, "", 1, activations=f"{name}.safetensors")
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00001")
    with pytest.raises(MemoryBudgetError, match="number of tokens"):
        hidden_states(demo, "", 1, activations=save({"h": H}))
