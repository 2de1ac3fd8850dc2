"""A Hub's nearly right answer about a repository gives a checkpoint, or one sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mla_engine.checkpoints import build_demo, describe, open_checkpoint
from tests.attacks.nearly import deep, fuzz, junk, mutated, outcome, outcome_within, texts_of
from tests.checkpoints.serving import COMMIT, serving
from tests.sampling import many


@pytest.fixture
def hub(tmp_path, empty_cache, monkeypatch):
    with serving(build_demo(tmp_path / "demo")) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        yield hub


@fuzz(many(40, 200))
@given(data=st.data())
def test_a_listing(hub, data):
    siblings = [{"rfilename": p.name, "size": p.stat().st_size} for p in hub.folder.iterdir()]
    body = {"id": "who/model", "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
    hub.listed = data.draw(texts_of(mutated(body)) | texts_of(junk) | deep.map(str.encode))
    outcome_within(64, describe, "who/model", 1)


def test_the_listing_that_is_changed_is_good(hub):
    assert open_checkpoint("who/model").revision == COMMIT
    hub.listed = json.dumps({"id": "x", "sha": COMMIT, "siblings": []}).encode()
    assert outcome(open_checkpoint, "who/model").code == "no_config"
