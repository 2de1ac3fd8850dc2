"""A small Hub on this machine: the client's routes, byte ranges, counted bytes, and faults."""

import json
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests import patience

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ROUTE = re.compile(r"/(?P<api>api/models/)?(?P<name>[^/]+/[^/]+)/(resolve|revision)/(?P<rest>.+)")


@dataclass
class Hub:
    """A Hub: its files, what goes wrong (one fault a range request), and what was asked."""

    folder: Path
    address: str = ""
    faults: list[str] = field(default_factory=list)
    down: int = 0  # the status of every answer, unless 0
    listed: bytes | None = None  # what is said of a repository, in the place of the truth
    store: str = ""  # where shards are redirected to, if anywhere
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)  # method, path, range
    hanging: int = 0  # connections on which no more is said
    tokens: list[tuple[str, str | None]] = field(default_factory=list)  # path, Authorization
    shard_bytes: int = 0  # bodies of shards
    header_bytes: int = 0

    def size(self, file):
        return (self.folder / file).stat().st_size

    def holding(self, name):
        """The folder of a repository: one of its own below `folder`, or what all others have."""
        own = self.folder / name
        return own if own.is_dir() else self.folder


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub, path = self.server.hub, self.path.partition("?")[0]
        self.folder = hub.folder
        hub.asked.append((self.command, path, self.headers["Range"]))
        hub.tokens.append((path, self.headers["Authorization"]))
        if hub.down:
            return self.answer(hub.down)
        if path.startswith("/store/"):
            return self.shard(path.removeprefix("/store/"))
        name, revision, file = self.place(path)
        self.folder = hub.holding(name)
        if name == "who/missing":
            return self.answer(404, code="RepoNotFound")
        if revision not in ("main", COMMIT):
            return self.answer(404, code="RevisionNotFound")
        if file is None:
            return self.listing()
        if name == "who/gated":
            return self.answer(403, code="GatedRepo")
        if not (self.folder / file).is_file():
            return self.answer(404, code="EntryNotFound")
        if self.headers["Range"]:
            if hub.store:
                return self.answer(302, Location=f"{hub.store}/store/{file}")
            return self.shard(file)
        return self.answer(200, (self.folder / file).read_bytes(), ETag=f'"{file}"')

    def place(self, path):
        match = ROUTE.fullmatch(path)
        revision, _, file = match["rest"].partition("/")
        return match["name"], revision, None if match["api"] else file

    def listing(self):
        if self.server.hub.listed is not None:
            return self.answer(200, self.server.hub.listed)
        files = sorted(p for p in self.folder.iterdir() if p.is_file())
        siblings = [{"rfilename": p.name, "size": p.stat().st_size} for p in files]
        body = {"id": "who/model", "sha": COMMIT, "siblings": siblings}
        return self.answer(200, json.dumps(body).encode())

    def shard(self, file):
        hub = self.server.hub
        data = (self.folder / file).read_bytes()
        start, stop = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        is_header = stop < 8 + int.from_bytes(data[:8], "little")
        with self.server.counting:
            hub.header_bytes += is_header * (stop + 1 - start)
        fault = hub.faults.pop(0) if hub.faults and not is_header else ""
        if fault == "ignores":
            self.answer(200, data)
        elif fault.isdecimal():
            self.answer(int(fault), **{"Retry-After": "0"})
        elif fault == "wait":
            self.answer(429, **{"Retry-After": "3600"})
        else:
            self.part(data[start : stop + 1], f"bytes {start}-{stop}/{len(data)}", fault)

    def part(self, body, given, fault):
        if fault == "wrong start":
            given = given.replace("bytes ", "bytes 1")
        if fault in ("wrong total", "longer"):
            body, given = body + b"\0" * 10, given + "0" * (fault == "wrong total")
        headers = {"Content-Range": given} if fault != "no range" else {}
        if fault == "packed":
            headers["Content-Encoding"] = "gzip"
        sent = body[: len(body) // 2] if fault in ("cut", "hangs", "short", "unsized") else body
        length = {"short": len(sent), "unsized": None}.get(fault, len(body))
        self.answer(206, b"", length, **headers)
        for eighth in range(8):
            chunk = sent[len(sent) * eighth // 8 : len(sent) * (eighth + 1) // 8]
            with self.server.counting:
                self.server.hub.shard_bytes += len(chunk)
            self.wfile.write(chunk)
            time.sleep(0.1 * (fault == "slow"))
        if fault == "hangs":
            self.server.hub.hanging += 1
            self.server.closing.wait(patience.SECONDS)
        self.close_connection = fault in ("cut", "hangs", "unsized")

    def answer(self, status, body=b"", length=0, *, code=None, **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Accept-Ranges", "bytes")
        if length is not None:
            self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    counting = threading.Lock()

    def server_close(self):
        self.closing.set()  # for whoever hangs
        super().server_close()

    def handle_error(self, *_):
        """A client that hangs up is what some tests are about."""


@contextmanager
def serving(folder):
    """Serve `folder` as every repository, but those that have folders of their own below it."""
    server = Server(("127.0.0.1", 0), Handler)
    server.closing = threading.Event()
    server.hub = Hub(Path(folder), f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
