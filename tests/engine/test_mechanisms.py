"""The registry: what every mechanism declares, and a new one that brings only its package."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest
import torch

from kvcount.refusals import RefusedError
from mla_engine import (
    PRESETS,
    SYMBOLS,
    mechanisms,
)
from tests.engine.kinds import SWA, forms, layer_of, ways
from tests.engine.samples import hidden

ROOT = Path(__file__).parents[2]
TOY = ROOT / "tests" / "toy_mechanism"


def copied(folder: Path) -> Path:
    """A copy of the engine with the toy in it, to be changed."""
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "mla_engine", folder / "mla_engine", ignore=without)
    shutil.copytree(TOY, folder / "mla_engine" / "toy", ignore=without)
    return folder / "mla_engine"


def written(folder: Path, *command: str) -> dict:
    """Return what Python writes, as JSON, with the engine that lies in this folder."""
    environment, call = os.environ | {"PYTHONPATH": str(folder)}, [sys.executable, *command]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> dict:
    engine = copied(tmp_path_factory.mktemp("toy"))
    return written(engine.parent, str(ROOT / "tests/engine/toy_checks.py"))


def test_a_new_package_is_found_behind_those_there_are(toy):
    assert toy["keys"] == [*(one.key for one in mechanisms.all()), "toy"]
    assert toy["variants"] == [*mechanisms.variants(), "tied"]
    assert toy["ways"] == [*mechanisms.ways(), "tied"]
    assert toy["kind"] == "Tied"


def test_its_layer_is_torchs_attention_with_keys_for_values_and_decodes_as_it_prefills(toy):
    assert toy["from torch"] < 1e-12
    assert toy["decoded"] < 1e-12
    assert toy["logits"] == 0
    assert toy["timed"]


def test_its_costs_are_those_of_its_runs(toy):
    length, held, reserved = toy["held"]
    assert (length, held) == (7, reserved)
    assert held == 2 * 7 * 8 * toy["elements"]
    assert toy["zeros"] == 7 * 8 * toy["elements"]
    assert toy["elements"] == 6 * 8, "n_heads d_head of its preset"
    assert toy["of a rank of 4"] == 2 * 8, "two of its six heads on the fullest of four"
    for counted, measured in (toy["parameters"], toy["prefill"], toy["decode"]):
        assert counted == measured > 0
    assert toy["attention"] == toy["attention by hand"]
    assert toy["off"] == [1, 2]


def test_what_does_not_go_together_is_refused_with_the_mechanisms_own_words(toy):
    assert "needs the latents, which a 'tied' cache" in toy["refused"]["absorbed"]
    assert "needs a LatentConfig: tied heads keep 'tied'" in toy["refused"]["latent cache"]
    owners = "an IndexedConfig or a LatentConfig or a PooledIndexConfig"
    assert f"{owners}: tied heads have none" in toy["refused"]["latents"]
    assert "must be an IndexedConfig or a LatentConfig" in toy["refused"]["layouts"]
    assert "needs a TiedConfig: latent attention keep" in toy["refused"]["tied of MLA"]


WRONG = {
    "variant": ("toy/mechanism.py", 'code="tied", kind', 'code="mha", kind', "variant 'mha'"),
    "way": ("toy/mechanism.py", 'code="tied",\n', 'code="mla_kv",\n', "way 'mla_kv'"),
    "key": ("toy/mechanism.py", 'key="toy"', 'key="tied"', "MECHANISM of key 'toy'"),
    "name": ("toy/mechanism.py", "MECHANISM =", "TIED =", "MECHANISM of key 'toy'"),
    "preset": ("toy/presets.toml", "[toy-tied]", "[llama-3-8b]", "preset 'llama-3-8b'"),
    "table": ("toy/presets.toml", "toy = {", "tied = {", "preset 'toy-tied'"),
    "symbol": ("toy/symbols.toml", "[kv]", "[k_R]", "symbol 'k_R'"),
}


IMPORTS = """
import json, sys, torch
said = {}
for folder in sys.argv[1:]:
    sys.path[0] = folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "mla_engine"]:
        del sys.modules[name]
    try:
        from mla_engine import PRESETS, SYMBOLS, mechanisms
    except ValueError as error:
        said[folder] = str(error)
sys.stdout.write(json.dumps(said))
"""


@pytest.fixture(scope="module")
def refusals(tmp_path_factory) -> dict:
    """Name of a wrong declaration -> what the engine says when it is imported."""
    folders = {}
    for name, (file, right, wrong, _) in WRONG.items():
        engine = copied(tmp_path_factory.mktemp(name))
        text = (engine / file).read_text("utf-8")
        assert right in text
        (engine / file).write_text(text.replace(right, wrong, 1), "utf-8")
        folders[name] = str(engine.parent)
    said = written(engine.parent, "-c", IMPORTS, *folders.values())
    return {name: said.get(folder, "nothing") for name, folder in folders.items()}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_is_refused_at_start_with_its_file(name, refusals):
    file, *_, said = WRONG[name]
    assert file in refusals[name]
    assert said in refusals[name]


@pytest.mark.parametrize("key", PRESETS)
def test_a_published_model_comes_back_from_its_sizes(key):
    config = PRESETS[key].config
    variant = mechanisms.of(config).variant(config)
    assert variant.kind == PRESETS[key].kind
    assert variant.config(mechanisms.sizes_of(config), config) == config


@pytest.mark.parametrize("mechanism", mechanisms.all(), ids=lambda one: one.key)
def test_a_size_without_which_there_is_no_layer_has_to_be_given(mechanism):
    every = [config for preset in PRESETS.values() for config, _ in preset.kinds]
    config = next(one for one in every if mechanisms.of(one) is mechanism)
    needed = [one.name for one in fields(config) if one.default is MISSING]
    assert mechanism.config_type(**{name: getattr(config, name) for name in needed})


def test_every_variant_can_be_made_of_every_model():
    for preset in PRESETS.values():
        sizes = mechanisms.sizes_of(preset.config)
        for code, variant in mechanisms.variants().items():
            made = variant.config(sizes, preset.config)
            assert mechanisms.of(made) is mechanisms.of_variant(code)
            assert {made.d_model, made.n_heads} == {preset.config.d_model, preset.config.n_heads}


@ways
def test_each_form_prefills_and_decodes_by_its_own_formulas(way):
    layer, h, places = way.layer(), hidden(2, 6, 10), torch.arange(6)
    whole = way.form.forward(layer, h)
    assert type(whole) is way.form.trace
    assert torch.equal(way.form.prefill(layer, h, places).u, whole.u)
    _, held = way.step(layer, h[:, :4], way.empty(6))
    trace, cache = way.form.decode[way.kind](layer, h[:, 4:], held, places[4:])
    torch.testing.assert_close(trace.u, whole.u[:, 4:], rtol=1e-12, atol=1e-12)
    assert cache.length == 6


@forms
def test_the_scores_of_a_form_are_its_queries_times_its_keys(config, form):
    layer = layer_of(config)
    trace = form.forward(layer, hidden(1, 6, 10))
    parts = {code for code, pair in form.scores.items() if code in trace.steps for code in pair}
    assert parts <= set(trace.steps)
    if form.unmasked is not None:
        seen = trace.visible.expand_as(trace.scores)
        torch.testing.assert_close(form.unmasked(layer, trace)[seen], trace.scores[seen])
    assert set(form.growing) <= {field.name for field in fields(trace)} <= set(SYMBOLS)


def test_a_layer_that_no_page_shows_says_so():
    pooled = mechanisms.of(SWA)
    without = replace(pooled, variants=tuple(one for one in pooled.variants if one.offered))
    with pytest.raises(RefusedError, match="no page shows attention to pooled entries: choose"):
        without.variant(SWA)


def test_what_is_not_offered_is_a_variant_all_the_same():
    variant = mechanisms.of(SWA).variant(SWA)
    assert variant.code == "swa"
    assert variant.config(mechanisms.sizes_of(SWA), SWA) == SWA
    assert {*mechanisms.variants()} - {*mechanisms.offered()} == {"swa"}
