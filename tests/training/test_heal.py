"""MLA made of a small random model of Llama's class: what is exact, and what the teaching does."""

import pytest
import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM

from mla_engine.checkpoints import real_mla
from mla_engine.language_model.real import load_real
from tests.checkpoints.models import GROUPED, filled
from tests.checkpoints.texts import add_tokenizer
from training.heal.command import won_back
from training.heal.convert import convert
from training.heal.pack import pack
from training.heal.teach import fitted, student, teach

ONE, TWO = 1, 2  # KV heads


def texts(seed, count=8, length=24):
    return torch.randint(0, 64, (count, length), generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for kv_heads in (ONE, TWO):
        sizes = GROUPED | {"num_key_value_heads": kv_heads}
        config = LlamaConfig(**sizes, tie_word_embeddings=True)
        made[kv_heads] = tmp_path_factory.mktemp("model")
        filled(LlamaForCausalLM(config)).half().save_pretrained(made[kv_heads])
        add_tokenizer(made[kv_heads])
    return made


def test_of_one_kv_head_nothing_is_lost(folders):
    model = load_real(folders[ONE])
    converted = convert(model, [texts(1), texts(2)], latent=8)
    assert converted.pairs == (0, 1, 2, 3)
    read = texts(3)
    largest = model.logits(read).abs().max()
    made = student(model, converted)
    assert (made.logits(read) - model.logits(read)).abs().max() < 1e-4 * largest


def test_fast_pairs_get_several_places_and_turn_as_they_did(folders):
    converted = convert(load_real(folders[TWO]), [texts(1), texts(2)], latent=20)
    scaling = converted.layers[0].config.rope.scaling
    assert len(converted.pairs) == len(scaling.short_factor) == 4
    assert converted.pairs.count(0) == TWO
    for place, pair in enumerate(converted.pairs):  # theta is 10,000, the width 8
        frequency = 10000 ** -(place / 4) / scaling.short_factor[place]
        assert frequency == pytest.approx(10000 ** -(pair / 4))


def apart(model, made, read):
    """Return how far the residual stream is from the original's behind the last layer."""
    wanted, found = (one(read).blocks[-1].x_out[:, 1:] for one in (model, made))
    return float(((found - wanted).norm(dim=-1) / wanted.norm(dim=-1)).square().mean())


def test_the_taught_model_is_nearer_to_the_original_on_other_texts(folders):
    model = load_real(folders[TWO])
    made = student(model, convert(model, [texts(1), texts(2)], latent=20))
    read, told, first = texts(5), [], model.blocks[0].attention.W_O.clone()
    before = apart(model, made, read)
    teach(model, made, texts(4, 64), lambda *one: told.append(one))
    assert apart(model, made, read) < 0.95 * before
    assert model.blocks[0].attention.W_O.equal(first)
    assert [layer for layer, _, _ in told] == [0, 1]
    assert all(after < first for _, first, after in told)


def test_what_is_fitted_is_found_where_it_is_there():
    generator = torch.Generator().manual_seed(0)
    given, matrix = (torch.randn(*shape, generator=generator) for shape in ((8, 40, 6), (5, 6)))
    found, left = fitted(given, given @ matrix.mT)
    assert (found - matrix).abs().max() < 0.01
    assert left < 1e-4
    alone = fitted(given, torch.randn(8, 40, 5, generator=generator))[0]
    assert alone.norm() < 0.5 * matrix.norm()


def test_the_folder_has_the_taught_weights_in_8_bits(folders, tmp_path):
    model = load_real(folders[TWO])
    converted = convert(model, [texts(1), texts(2)], latent=20)
    made = student(model, converted)
    teach(model, made, texts(4))
    file = tmp_path / "differences.safetensors"
    pack(model, made, converted, "in a test", file)
    found = load_real(real_mla.build(tmp_path / "made", folders[TWO], file))
    own = made.config.attention
    assert found.config.attention.scale == own.scale
    scaling = found.config.attention.rope.scaling
    assert scaling.short_factor == pytest.approx(own.rope.scaling.short_factor)
    assert scaling.rotation_magnitude == 1
    with safe_open(file, "pt") as opened:
        scales = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    for number, (ours, theirs) in enumerate(zip(made.blocks, found.blocks, strict=True)):
        step = scales[f"{number}.O.scale"].max()
        first, second = ours.attention, theirs.attention
        assert (second.W_O - first.W_O).abs().max() <= step / 2 + 1e-3 * first.W_O.abs().max()
        torch.testing.assert_close(second.W_UQ, first.W_UQ)
        torch.testing.assert_close(second.W_QR, first.W_QR, atol=1e-3, rtol=1e-3)
        for up in ("W_UK", "W_UV"):  # whatever size the latent's numbers have
            of_all, whole = (getattr(one, up) @ one.W_DKV for one in (second, first))
            assert (of_all - whole).norm() < 0.02 * whole.norm()


def test_the_share_is_counted_in_the_logarithm_of_perplexity_of_both_kinds_alike():
    rows = {"original": (2.0, 3.0), "converted": (4.0, 5.0), "taught": (2.5, 3.5)}
    found = {name: {"a": [both[0]] * 3, "b": [both[1]]} for name, both in rows.items()}
    assert won_back(found) == pytest.approx(0.75)
    found["taught"]["a"] = [4.0]
    assert won_back(found) == pytest.approx(1 - (2.0 + 0.5) / 4)
