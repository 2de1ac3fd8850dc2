"""A wrong setting of the server is told in one sentence, before anything is started."""

import pytest

from ui.server import start

WRONG = {
    "MLA_MEMORY_BUDGET_GIB": "1 GiB",
    "MLA_CACHE_BUDGET_GIB": "0",
    "MLA_DISK_QUOTA_GIB": "inf",
    "MLA_DOWNLOADS_GIB": "-1",
    "MLA_REPOSITORIES": "all",
    "MLA_TOKEN_REPOSITORIES": "owner",
    "MLA_WORKERS": "1.5",
    "MLA_PROCESSES": "0",
    "MLA_LOG": "xml",
    "MLA_ENGINE": "dask",
    "MLA_DEVICE": "tpu",
    "MLA_REPLICAS": "0",
    "MLA_REPLICA_GPUS": "-0.5",
    "PUBLIC_URL": "mla.example.org",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variable_is_named_with_its_value_and_what_would_do(name, monkeypatch):
    monkeypatch.setenv(name, WRONG[name])
    with pytest.raises(SystemExit) as stopped:
        start.check()
    said = str(stopped.value)
    assert said.startswith(f"MLA Explorer cannot run: {name} is {WRONG[name]!r}: give ")
    assert "\n" not in said


def test_an_engine_that_is_not_installed_is_a_wrong_variable(monkeypatch):
    monkeypatch.setenv("MLA_ENGINE", "ray")
    monkeypatch.setattr("ui.settings.server.find_spec", lambda _name: None)
    with pytest.raises(SystemExit, match=r"MLA_ENGINE is 'ray': .* requirements-ray.txt"):
        start.check()
