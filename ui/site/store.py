"""The recording of a running app, in one file: one that was broken off goes on."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zlib import compress, decompress

from ui.site.protocol import Run

TABLES = """
create table if not exists messages (name text primary key, body blob);
create table if not exists runs
  (address text primary key, page text, query text, messages text, pages text);
create table if not exists presses
  (address text, key text, said text, page text, query text, primary key (address, key, said));
create table if not exists media (name text primary key, body blob);
"""
Query = dict[str, str]


def address_of(page: str, query: Query) -> str:
    """Return an address in the one form that stands for it: its settings in order."""
    said = (f"{name}={_bare(query[name])}" for name in sorted(query))
    return f"{page}?{'&'.join(said)}"


def _bare(text: str) -> str:
    """Return a text without what parts two settings, as the script does it as well."""
    return text.replace("%", "%25").replace("&", "%26")


def parts_of(address: str) -> tuple[str, Query]:
    """Return the page and the settings of an address that `address_of` wrote."""
    page, _, said = address.partition("?")
    pairs = [pair.split("=", 1) for pair in said.split("&") if pair]
    return page, {name: text.replace("%26", "&").replace("%25", "%") for name, text in pairs}


@dataclass(frozen=True)
class Press:
    """A control that was chosen at an address, and where that led."""

    address: str
    key: str
    said: str
    page: str
    query: Query


class Store:
    """The recording in a file; each thread opens its own."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.version = file.stem  # of what is recorded
        self._file, self._data = file, sqlite3.connect(file, timeout=60)
        self._data.execute("pragma journal_mode = wal")
        self._data.executescript(TABLES)

    def again(self) -> "Store":
        """Open the same file once more, for another thread."""
        return Store(self._file)

    def run(self, address: str) -> Run | None:
        """Return the run that was recorded at an address."""
        asked = "select page, query, messages, pages from runs where address = ?"
        found = self._data.execute(asked, (address,)).fetchone()
        if not found:
            return None
        page, query, names, pages = found
        bodies = tuple(map(self.message, names.split()))
        return Run(page, json.loads(query), bodies, json.loads(pages))

    def message(self, name: str) -> bytes:
        """Return a message by its name, that of its contents."""
        asked = "select body from messages where name = ?"
        return decompress(self._data.execute(asked, (name,)).fetchone()[0])

    def keep(self, address: str, run: Run) -> None:
        """Keep the run of an address; each message once."""
        named = {sha256(body).hexdigest()[:24]: body for body in run.messages}
        names = " ".join(sha256(body).hexdigest()[:24] for body in run.messages)
        told = (address, run.page, json.dumps(run.query), names, json.dumps(run.pages))
        with self._data:
            rows = [(name, compress(body)) for name, body in named.items()]
            self._data.executemany("insert or ignore into messages values (?, ?)", rows)
            self._data.execute("insert or replace into runs values (?, ?, ?, ?, ?)", told)

    def pressed(self, address: str, key: str, said: str) -> Press | None:
        """Return where a control led, if that was recorded."""
        asked = "select page, query from presses where address = ? and key = ? and said = ?"
        found = self._data.execute(asked, (address, key, said)).fetchone()
        return found and Press(address, key, said, found[0], json.loads(found[1]))

    def keep_press(self, press: Press) -> None:
        """Keep where a control led."""
        row = (press.address, press.key, press.said, press.page, json.dumps(press.query))
        with self._data:
            self._data.execute("insert or replace into presses values (?, ?, ?, ?, ?)", row)

    def has_media(self, name: str) -> bool:
        """Tell whether a file that messages name is kept."""
        return bool(self._data.execute("select 1 from media where name = ?", (name,)).fetchone())

    def keep_media(self, name: str, body: bytes) -> None:
        """Keep a file that messages name."""
        with self._data:
            self._data.execute("insert or ignore into media values (?, ?)", (name, body))

    def media(self) -> list[tuple[str, bytes]]:
        """Return the files that messages name, by their names."""
        return self._data.execute("select name, body from media").fetchall()

    def addresses(self) -> list[str]:
        """Every address that was recorded, in order."""
        found = self._data.execute("select address from runs order by address")
        return [address for (address,) in found]

    def presses(self) -> Iterator[Press]:
        """Every choice that was recorded."""
        for *told, query in self._data.execute("select * from presses order by address, key, said"):
            yield Press(*told, json.loads(query))

    def close(self) -> None:
        """Close the file."""
        self._data.close()
