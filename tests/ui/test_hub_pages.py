"""Pages on a repository of the Hub: a small Hub on this machine, its own client, one layer read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from mla_engine.checkpoints import hidden_states, load_attention
from tests.checkpoints.conftest import empty_cache  # noqa: F401, a fixture
from tests.checkpoints.serving import Hub, serving
from tests.ui.test_real_layer import framed


@pytest.fixture
def hub(demo: str, empty_cache: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:  # noqa: F811
    """A Hub that serves the demonstration model as "who/model"."""
    st.cache_resource.clear()
    with serving(Path(demo)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        yield hub
    st.cache_resource.clear()


def test_the_maps_show_a_repositorys_layer_and_read_no_more_than_it(opened, hub, demo):
    text = "The cat sat on the mat."
    at = opened(
        "pages/attention_maps.py", source="who/model", text=text, map_query="4", map_key="1"
    )
    trace = load_attention(demo, 0)(hidden_states(demo, text, 0).h)
    share = 100 * float(trace.attention[0, 0, 4, 1])
    assert f"gives {share:#.3g} %" in framed(at)
    whole = sum(hub.size(file.name) for file in hub.folder.glob("*.safetensors"))
    assert 0 < hub.shard_bytes < whole / 4
    before = hub.shard_bytes
    at.number_input(key="map_head:en").set_value(3).run()
    assert not at.exception
    assert hub.shard_bytes == before  # kept: another head reads nothing anew


@pytest.mark.parametrize("name", ["who/missing", "who/gated"])
def test_a_repository_that_gives_nothing_is_said_and_the_page_lives(opened, hub, name):
    at = opened("pages/real_models.py", source=name)
    assert name in at.error[0].value.replace("&#47;", "/")
    assert at.query_params["source"] == name
    assert hub.shard_bytes == 0
