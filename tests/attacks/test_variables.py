"""A wrong setting of the server is told in one sentence, before anything is started."""

import asyncio

import pytest

from ui.server import start
from ui.server.answers import SecurityHeaders, answer

WRONG = {
    "MLA_MEMORY_BUDGET_GIB": "1 GiB",
    "MLA_CACHE_BUDGET_GIB": "0",
    "MLA_DISK_QUOTA_GIB": "inf",
    "MLA_DOWNLOADS_GIB": "-1",
    "MLA_REPOSITORIES": "all",
    "MLA_TOKEN_REPOSITORIES": "owner",
    "MLA_WORKERS": "1.5",
    "MLA_PROCESSES": "0",
    "MLA_FRAME_ANCESTORS": "https://a.org; script-src *",
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


@pytest.mark.parametrize(
    ("given", "around"),
    [
        (
            "https://course.example.edu, http://*.lan:8080",
            "https://course.example.edu http://*.lan:8080",
        ),
        ("none", ""),
        ("", "https://huggingface.co https://*.hf.space"),
    ],
)
def test_only_the_sites_that_the_operator_names_may_frame_the_app(given, around, monkeypatch):
    """A browser leaves a frame blank on a site that frame-ancestors does not name."""
    monkeypatch.setenv("MLA_FRAME_ANCESTORS", given)
    sent = []

    async def send(message):
        sent.append(message)

    app = SecurityHeaders(lambda _scope, _receive, send: answer(send, 200, "ok"))
    asyncio.run(app({"type": "http"}, None, send))
    policy = dict(sent[0]["headers"])[b"content-security-policy"].decode()
    assert policy.endswith(f"frame-ancestors 'self' {around}".strip())
