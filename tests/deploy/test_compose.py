"""The files of deploy/ and its README agree: images, locks, settings, their tables."""

import re

import pytest
import yaml

from tests.deploy.proxied import DEPLOY
from ui.classroom import store
from ui.engine import queue
from ui.engine.workers import pool
from ui.server import admission, uploads
from ui.server.classes import endpoint
from ui.settings.server import Server

SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
README = (DEPLOY / "README.md").read_text("utf-8")
OF_APP = {f"MLA_{name.upper()}" for name in Server.model_fields}
VARIABLE = re.compile(r"\bMLA_[A-Z_]+\b")


def used(*names):
    """The variables that files of deploy/ name."""
    return set(VARIABLE.findall("".join((DEPLOY / name).read_text("utf-8") for name in names)))


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_locked(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["ulimits"]["nofile"] >= 65536
    assert "build" in service or re.search(r"@sha256:[0-9a-f]{64}$", service["image"])


def test_the_head_of_the_readme_is_that_of_the_image():
    head = yaml.safe_load((DEPLOY.parent / "README.md").read_text("utf-8").split("---")[1])
    dockerfile = (DEPLOY.parent / "Dockerfile").read_text("utf-8")
    assert head["sdk"] == "docker"
    assert re.findall(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE) == [str(head["app_port"])]
    assert f"| `MLA_PORT` | `{head['app_port']}` |" in README


def test_only_the_proxy_is_reached_from_outside():
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    assert SERVICES["redis"]["networks"] == ["inside"]
    assert SERVICES["proxy"]["depends_on"] == {"app": {"condition": "service_healthy"}}


def test_the_table_has_every_setting_of_what_starts_and_proxies():
    own = used("start.py", "proxy.sh") - OF_APP
    assert own
    assert own <= set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE))


def test_the_budgets_are_those_of_the_code():
    table = README.partition("## Budgets")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    ours = Server(_env_file=None)
    gib = {"memory_budget", "cache_budget", "downloads", "disk_quota"}
    said = {f"MLA_{name.upper()}_GIB": f"{getattr(ours, f'{name}_gib'):g} GiB" for name in gib}
    said |= {"MLA_MOST_VISITORS": f"{ours.most_visitors:,}", "MLA_ROOMS": str(ours.rooms)}
    said |= {"MLA_WORKERS": f"{ours.workers} workers"}
    for name, text in said.items():
        assert any(f"`{name}`" in row and text in row for row in rows), (name, text)
    bounds = {
        "wrong codes": f"{endpoint.WRONG_AT_ONCE} of an address, then {endpoint.WRONG_A_SECOND} a",
        "classes": f"of {store.MOST_FOLLOWERS:,} each",
        "pages run": f"{queue.PAGES_AT_ONCE} at a time",
        "computing": f"and {queue.MOST_OF_ONE} turns that wait",
        "strangers' files": f"{pool.MOST_WAITING} jobs wait",
        "uploads in memory": f"{uploads.MOST_FILES} files",
        "places": f"for {admission.TABS} tabs",
    }
    for name, text in bounds.items():
        assert any(row.startswith(f"| {name}") and text in row for row in rows), (name, text)


def test_every_variable_that_is_set_is_a_setting():
    known = OF_APP | used("start.py", "proxy.sh") | {"MLA_REDIS_URL"}
    named = used("compose.yaml", "README.md", "systemd/mla.service", "systemd/mla-proxy.service")
    assert named <= known


def test_every_file_that_is_named_is_there():
    for name in re.findall(r"\bdeploy/([\w./-]+\.\w+)", README):
        assert (DEPLOY / name).exists() or name == "mla.env", name
