"""Where a model is looked for: a folder by its name, the Hub for its config.json alone."""

import json

from kvcount.tests.published import V3, V3_2
from mla_engine.checkpoints import open_checkpoint
from tests.checkpoints.conftest import empty_cache  # noqa: F401 - a fixture
from tests.checkpoints.serving import serving
from tests.refusals import refusing


def test_of_a_repository_config_json_alone_is_read(cache, tmp_path, monkeypatch, empty_cache):  # noqa: F811
    (tmp_path / "config.json").write_text(json.dumps(V3_2), "utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    with serving(tmp_path) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        assert cache("who/model", "--json").found["stored_bytes_per_token"] == 85_888
        assert "no such repository" in cache("who/missing").refusal
    assert {path.rpartition("/")[2] for _, path, _ in hub.asked} == {"main", "config.json"}


def test_a_name_of_a_folder_never_asks_the_hub(cache, plan, tmp_path, monkeypatch, empty_cache):  # noqa: F811
    """Also where there is no folder models at all; a folder is found with a space behind."""
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        for name in ("models/typo", "models/typo "):
            assert "'models/typo' is not a folder that may be read" in cache(name).refusal
        (tmp_path / "models" / "one").mkdir(parents=True)
        (tmp_path / "models" / "out").symlink_to(tmp_path / "gone")
        assert "'models/out' is not a folder that may be read" in plan("models/out").refusal
        (tmp_path / "models" / "one" / "config.json").write_text(json.dumps(V3), "utf-8")
        assert cache("models/one ", "--json").found["layers"] == 61
        with refusing("no_such_folder"):
            open_checkpoint("models/typo")
    assert hub.asked == []
