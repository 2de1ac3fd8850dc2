"""Two processes of the app, Redis and one nginx for all tests of deploy/."""

import pytest

from tests.classroom import redis_server
from tests.deploy.proxied import processes, proxy


@pytest.fixture(scope="session")
def two(tmp_path_factory, models):
    settings = {"MLA_METRICS": "1", "MLA_MODEL_FOLDERS": str(models)}
    with redis_server.running(tmp_path_factory.mktemp("redis")) as redis:
        settings["MLA_REDIS_URL"] = redis.url
        with processes(2, tmp_path_factory.mktemp("hub"), settings) as started:
            yield started


@pytest.fixture(scope="session")
def front(two):
    """The proxy before them."""
    with proxy(two.ports) as started:
        yield started
