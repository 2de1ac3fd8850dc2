"""The operator's settings, from environment variables, checked when the app starts."""

import os
import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kvcount.lazy import LazyModule
from ui import ROOT

torch = LazyModule("torch")  # asked only for a GPU

Gibibytes = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Repository = Annotated[str, StringConstraints(pattern=r"^[\w-][\w.-]{0,95}/[\w.-]{1,96}$")]

Site = Annotated[str, StringConstraints(pattern=r"^https?://(\*\.)?[\w-]+(\.[\w-]+)*(:\d{1,5})?$")]


def web_address(text: str) -> str:
    """An address of the web without its last slash.

    Raises:
        ValueError: it does not begin with http:// or https://, has no host, or goes on after the
            path.
    """
    parts = urlsplit(text)
    well_formed = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    if text and (not well_formed or "@" in parts.netloc or re.search(r"[\s\"<>\\^`{|}?#]", text)):
        raise ValueError(text)
    return text.rstrip("/")


def redis_address(text: str) -> str:
    """An address of Redis, or none.

    Raises:
        ValueError: it is of another kind, or names no host.
    """
    parts = urlsplit(text)
    place = parts.path if parts.scheme == "unix" else parts.hostname
    if text and not (parts.scheme in ("redis", "rediss", "unix") and place and parts.port != 0):
        raise ValueError("no address of Redis")
    return text


def installed(engine: str) -> str:
    """An engine whose packages are there.

    Raises:
        ValueError: they are not.
    """
    if engine == "ray" and not find_spec("ray"):
        raise ValueError("ray is not installed")
    return engine


def usable(device: str, given: ValidationInfo) -> str:
    """A device that is there, and is not shared with other processes of the app.

    Raises:
        ValueError: there is no GPU, or each process would run its work on it as if it were alone.
    """
    shared = given.data.get("processes", 1) > 1
    if device == "cuda" and (shared or not torch.cuda.is_available()):
        raise ValueError("no GPU for this process alone")
    return device


def _listed(text: object) -> object:
    """A list of names, as a variable has it: with commas between."""
    return tuple(filter(None, map(str.strip, text.split(",")))) if isinstance(text, str) else text


def _open_to(text: object) -> object:
    return text if text in ("any", "none") else _listed(text)


def _sites(text: object) -> object:
    return () if text == "none" else _listed(text)


def _folders(text: object) -> object:
    return tuple(map(Path, text.split(os.pathsep))) if isinstance(text, str) else text


Repositories = Annotated[tuple[Repository, ...], NoDecode, BeforeValidator(_listed)]
Sites = Annotated[tuple[Site, ...], NoDecode, BeforeValidator(_sites)]


NAMES = ("MLA_", "PUBLIC_URL")  # how the variables begin


class Server(BaseSettings):
    """The settings of this server, each by the environment variable MLA_NAME.

    Args:
        memory_budget_gib: that one run may take; the engine reads the same variable.
        cache_budget_gib: that all kept layers and runs take together.
        cache_seconds: that they are kept after their last use.
        disk_quota_gib: of what is kept of the Hub, and of uploads.
        downloads_gib: that are fetched of the Hub in an hour; one visitor may have a fourth.
        model_folders: the folders that visitors may read, with ":" between (";" on Windows).
        repositories: of the Hub, that visitors may read: "any", "none", or names with commas
            between.
        token_repositories: those that are read with the owner's token; none by default.
        workers: processes that read the files of strangers.
        processes: of the app on this machine; what is joint is divided among them.
        most_visitors: that are let in at a time; the next wait in line.
        warm: whether every page is run once before the health is good.
        real_model: whether a small real model is fetched into the first of the folders, once the
            server is up.
        recorded: whether a static copy is made of this server's pages: what needs a server is not
            drawn, and controls offer what is recorded.
        metrics: whether /metrics and /_stcore/metrics answer everybody.
        frame_ancestors: sites that may frame the app beside its own, with commas between.
        log: lines for people ("text"), or a JSON object each ("json").
        rooms: classes that are held at a time; 0 closes the class mode.
        engine: what does the heavy work: this process, or a cluster of Ray (requirements-ray.txt).
        device: where this process runs its work: "cpu", "cuda", or a GPU if there is one ("auto").
        replicas: of the engine on Ray, at most; it starts with one.
        replica_gpus: that each of them has: 0.5 puts two on one.
        redis_url: where processes share their classes; "" keeps them in this one, if it is alone.
        public_url: the address that the audience has (PUBLIC_URL); "" for the browser's own.
    """

    model_config = SettingsConfigDict(env_prefix="MLA_", env_ignore_empty=True, extra="ignore")

    memory_budget_gib: Gibibytes = 1.0
    cache_budget_gib: Gibibytes = 1.0
    cache_seconds: Seconds = 600.0
    disk_quota_gib: Gibibytes = 4.0
    downloads_gib: Gibibytes = 16.0
    model_folders: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_folders)] = (
        ROOT / "models",
    )
    repositories: Annotated[
        Literal["any", "none"] | tuple[Repository, ...], NoDecode, BeforeValidator(_open_to)
    ] = "any"
    token_repositories: Repositories = ()
    workers: PositiveInt = 2
    processes: PositiveInt = 1
    most_visitors: PositiveInt = 1000
    warm: bool = False
    real_model: bool = False
    recorded: bool = False
    metrics: bool = False
    frame_ancestors: Sites = ("https://huggingface.co", "https://*.hf.space")
    log: Literal["text", "json"] = "text"
    rooms: NonNegativeInt = 100
    engine: Annotated[Literal["process", "ray"], AfterValidator(installed)] = "process"
    device: Annotated[Literal["auto", "cpu", "cuda"], AfterValidator(usable)] = "auto"
    replicas: PositiveInt = 2
    replica_gpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    redis_url: Annotated[str, AfterValidator(redis_address)] = ""
    public_url: Annotated[str, AfterValidator(web_address)] = Field(
        "", validation_alias="PUBLIC_URL"
    )

    @property
    def classes(self) -> int:
        """The number of classes that may be held: none where processes do not share them.

        A copy has none.
        """
        shared = self.processes == 1 or self.redis_url
        return self.rooms if shared and not self.recorded else 0

    def share(self, joint: float) -> int:
        """Return this process's part of what all processes of the machine have, at least 1."""
        return max(1, int(joint / self.processes))


def server() -> Server:
    """The settings now; read again where a variable has changed.

    Raises:
        ValidationError: a variable that is wrong; `mistakes` says it in sentences.
    """
    return _of(frozenset(pair for pair in os.environ.items() if pair[0].upper().startswith(NAMES)))


@lru_cache(maxsize=1)
def _of(_variables: frozenset[tuple[str, str]]) -> Server:
    return Server()


def mistakes(error: ValidationError) -> list[str]:
    """A sentence for each wrong variable, with its value and what would be accepted."""
    return list(dict.fromkeys(_mistake(one) for one in reversed(error.errors(include_url=False))))


def _mistake(one: dict) -> str:
    field = str(one["loc"][0])
    name = field if field.isupper() else f"MLA_{field.upper()}"
    given = "wrong" if field in SECRET else f"{one['input']!r:.120}"
    return f"{name} is {given}: {ACCEPTED[field]}"


SECRET = {"redis_url"}  # what may hold a password is not repeated


ACCEPTED = {
    "memory_budget_gib": "give a number of GiB above 0, for example 1 or 0.5",
    "cache_budget_gib": "give a number of GiB above 0, for example 1 or 0.5",
    "cache_seconds": "give a number of seconds above 0, for example 600",
    "disk_quota_gib": "give a number of GiB above 0, for example 4 or 0.5",
    "downloads_gib": "give a number of GiB above 0, for example 16 or 0.5",
    "model_folders": f"give folders with {os.pathsep!r} between",
    "repositories": "give any, none, or names of repositories (owner/name) with commas between",
    "token_repositories": "give names of repositories (owner/name) with commas between",
    "workers": "give a whole number above 0, for example 2",
    "most_visitors": "give a whole number above 0, for example 300",
    "warm": "give 1 or 0",
    "processes": "give a whole number above 0, for example 3",
    "recorded": "give 1 or 0",
    "metrics": "give 1 or 0",
    "frame_ancestors": "give none, or sites such as https://*.example.org with commas between",
    "log": "give text or json",
    "rooms": "give a whole number, for example 20, or 0 for none",
    "engine": "give process, or ray where requirements-ray.txt is installed",
    "device": "give cpu, or cuda where there is a GPU and MLA_PROCESSES is 1, or auto",
    "replicas": "give a whole number above 0, for example 2",
    "replica_gpus": "give a number of GPUs, for example 0.5, or 0 for none",
    "redis_url": "give an address such as redis://localhost:6379/0",
    "PUBLIC_URL": "give an address such as https://example.org/mla, without ? and #",
}
