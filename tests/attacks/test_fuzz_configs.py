"""A config.json of every family that is nearly right: a configuration, or one sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import CONFIG_MAPPING

from kvcount.refusals import RefusedError
from mla_engine.checkpoints.families import FAMILIES, attention_config
from mla_engine.config import AttentionConfig
from tests.attacks.nearly import fuzz, junk, mutated, outcome, outcome_within
from tests.checkpoints import pooled_model
from tests.checkpoints.models import MODELS
from tests.checkpoints.published import as_published
from tests.sampling import many

GLM = "glm5_next_text"  # whose inputs are not computed, so that no small model of it stands there
VALID = {GLM: json.loads(CONFIG_MAPPING[GLM](num_hidden_layers=3).to_json_string())}
for name, model in MODELS.items():
    config = json.loads(CONFIG_MAPPING[model.model_type](**model.all_settings).to_json_string())
    config["model_type"] = model.renamed or model.model_type
    VALID[name] = config
    VALID[f"{name} (published)"] = as_published(config, model.published)
V4 = "deepseek_v4"
VALID |= {V4: pooled_model.own_config()}
VALID |= {f"{V4} (published)": pooled_model.as_published(VALID[V4])}
OWN = "mla_explorer"  # a family of this app, which transformers does not have
VALID |= {OWN: VALID["youtu"] | {"model_type": OWN, "softmax_scale": 0.25}}


def test_every_family_is_changed_and_was_good():
    assert {config["model_type"] for config in VALID.values()} >= set(FAMILIES)
    for config in VALID.values():
        assert isinstance(attention_config(config, 0), AttentionConfig)


@pytest.mark.parametrize("name", [*MODELS, V4])
@fuzz(many(30, 100))
@given(data=st.data())
def test_a_config(name, data):
    form = data.draw(st.sampled_from([name, f"{name} (published)"]))
    config = data.draw(mutated(VALID[form], most=3))
    found = outcome_within(64, attention_config, config, data.draw(st.integers(-1, 2)))
    assert isinstance(found, AttentionConfig | RefusedError)


@fuzz(many(60, 200))
@given(junk, junk, st.sampled_from(sorted(FAMILIES)))
def test_a_config_of_nothing_but_noise(one, other, model_type):
    config = {"model_type": model_type, "rope_scaling": one, "layer_types": other}
    config |= {"num_hidden_layers": other, "num_layers": one, "n_layer": 2, "text_config": one}
    assert isinstance(outcome(attention_config, config, 0), AttentionConfig | RefusedError)
