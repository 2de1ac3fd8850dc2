"""The ways of attending that are compared: every variant, form and cache at the present sizes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mla_engine import GroupedConfig, LatentConfig
from ui.engine.model import Model, preset_name
from ui.words.text import t


@dataclass(frozen=True)
class Way:
    """A configuration, the form that computes it and the cache it keeps."""

    config: GroupedConfig | LatentConfig
    form: str
    cache: str


Ways = Mapping[str, Way]


def ways(model: Model, *, decoding: bool) -> dict[str, Way]:
    """Every variant and form; in prefill MLA's cache changes nothing, so it stands there once.

    Raises:
        ValueError: sizes that no layer can have.
    """
    grouped = {name: Way(model.config(name), "expanded", "kv") for name in ("mha", "gqa", "mqa")}
    mla = model.config("mla")
    every = grouped | {"mla_kv": Way(mla, "expanded", "kv")} if decoding else grouped
    return every | {
        "mla_each": Way(mla, "expanded", "latent"),
        "mla_absorbed": Way(mla, "absorbed", "latent"),
    }


def label(ways: Ways, code: str) -> str:
    """The short name of a way; in prefill MLA is expanded once, not each step."""
    if code == "gqa":
        return t("ways.way_gqa", n=ways[code].config.n_kv_heads)
    if code == "mla_each" and "mla_kv" not in ways:
        return t("ways.way_mla_expanded")
    return t(f"ways.way_{code}")


def joined(names: Iterable[str]) -> str:
    """Names of ways one after the other."""
    return t("ways.between").join(names)


def listed(ways: Ways, amounts: Mapping[str, str]) -> str:
    """What each way has, by its code, in one line: "MHA: 3 KiB; MQA: 1 KiB"."""
    return joined(t("ways.amount", name=label(ways, code), n=n) for code, n in amounts.items())


def of_model(model: Model) -> str:
    """The chosen sizes by name."""
    name = preset_name(model.preset)
    return t("ways.changed", name=name) if model.changed else name


def assumed(model: Model, latent: LatentConfig) -> str:
    """Where the latent comes from when the preset has none."""
    if not isinstance(model.base, GroupedConfig):
        return ""
    return t("ways.assumed", latent=latent.d_latent_kv, rope=latent.d_rope)
