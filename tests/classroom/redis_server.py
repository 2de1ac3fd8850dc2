"""A real redis-server of only this test, which can be ended and started again."""

import shutil
import subprocess
from contextlib import contextmanager

import redis

from tests.attacks.server import OWN_HOST, own_ports, wait_until
from ui.classroom.remote import Remote

PROGRAM = shutil.which("redis-server")


class Redis:
    """The server: its address, and its process if it runs."""

    def __init__(self, folder):
        self.folder, self.process, self.stores = folder, None, []
        (self.port,) = own_ports(1)
        self.url = f"redis://{OWN_HOST}:{self.port}/0"

    def start(self):
        assert PROGRAM, "redis-server is missing: tests/find_tools.sh installs it"
        command = [PROGRAM, "--port", str(self.port), "--bind", OWN_HOST, "--save", ""]
        self.process = subprocess.Popen(
            [*command, "--dir", str(self.folder)], stdout=subprocess.DEVNULL
        )
        wait_until(self.answers, "redis answers")

    def answers(self):
        try:
            with redis.Redis.from_url(self.url) as client:
                return client.ping()
        except redis.RedisError:
            return False

    def store(self, ages, **given):
        """Rooms in it, until it ends."""
        self.stores.append(store := Remote(self.url, ages, **given))
        return store

    def names(self):
        """All that it holds."""
        with redis.Redis.from_url(self.url, decode_responses=True) as client:
            return set(client.scan_iter())

    def everything(self):
        """All values that it holds, as one text."""
        with redis.Redis.from_url(self.url, decode_responses=True) as client:
            read = {"hash": client.hgetall, "set": client.smembers, "string": client.get}
            read["zset"] = lambda key: client.zrange(key, 0, -1)
            return " ".join(str(read[client.type(key)](key)) for key in client.scan_iter())

    def kill(self):
        """Fail as a machine does: at once."""
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


@contextmanager
def running(folder):
    """One that answers."""
    server = Redis(folder)
    server.start()
    try:
        yield server
    finally:
        for store in server.stores:
            store._redis.close()
        server.kill()
