"""The rotation that a config.json asks for, in both forms in which files write it.

transformers 5 writes `rope_parameters`; published repositories have `rope_scaling`, with `type` or
`rope_type`, and `rope_theta` beside it. A key that no table here knows is refused, not left out:
a rotation that is slightly wrong gives plausible maps.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from kvcount import checks
from kvcount.files.errors import CheckpointError
from kvcount.refusals import Phrase
from mla_engine.config import SCALINGS, RopeConfig, Scaling, YarnConfig

CONTEXT = "original_max_position_embeddings"
NEEDED = {  # rope_type -> the keys that it has to have
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "longrope": ("short_factor", "long_factor"),
    "yarn": ("factor",),
}
BESIDE = ("rope_theta", "partial_rotary_factor", CONTEXT)  # keys that may stand at the top level
ROPE_TABLES = ("rope_scaling", "rope_parameters")
READ_ELSEWHERE = {*ROPE_TABLES, "rope_interleave", "rope_interleaved"}


def rope_entries(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what config.json says of the rotation, as one flat table without nulls.

    Raises:
        CheckpointError: two places that contradict each other, or a rotary key that is unknown.
    """
    known = READ_ELSEWHERE | set(BESIDE)
    for key in config:
        if key.startswith(("rope", "rotary")) and key not in known and config[key] is not None:
            raise CheckpointError("unknown_entry", key=key, value=config[key])
    entries: dict[str, Any] = {}
    beside = {key: config[key] for key in BESIDE if key in config}
    for table in rope_tables(config):
        _add(entries, {key: value for key, value in table.items() if key != "type"})
        _add(entries, {"rope_type": table.get("type")})
    _add(entries, beside)
    return entries


def rope_tables(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what stands under both of ROPE_TABLES; CheckpointError for what is no table."""
    tables = [config.get(name) or {} for name in ROPE_TABLES]
    for name, table in zip(ROPE_TABLES, tables, strict=True):
        if not isinstance(table, dict):
            raise CheckpointError("no_table", name=name, table=table)
    return tables


def _add(entries: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if value is not None and entries.setdefault(key, value) != value:
            raise CheckpointError("two_values", key=key, first=entries[key], value=value)


def rope_config(
    config: Mapping[str, Any],
    *,
    theta: float,
    interleaved: bool,
    latent: bool,
    widths: tuple[int, int],
) -> RopeConfig:
    """Return the rotation of one attention.

    Args:
        config: the parsed config.json, without the keys that the family reads elsewhere.
        theta: the base where config.json names none.
        interleaved: whether neighbours make a pair.
        latent: whether YaRN's mscale_all_dim goes into the softmax scale, as MLA families have it.
        widths: r, the rotated dimensions, and the width of which partial_rotary_factor is a part.

    Raises:
        CheckpointError: a rope_type or a key that is unknown, a key that is missing, a rotation
            of a part of the head.
    """
    entries = rope_entries(config)
    name = entries.pop("rope_type", "default")
    if name not in NEEDED:
        raise CheckpointError("rotation", name=name, known=", ".join(NEEDED))
    part = entries.pop("partial_rotary_factor", None)
    if part is not None:
        checks.positive("partial_rotary_factor", part)
    if part is not None and int(part * widths[1]) != widths[0]:
        raise CheckpointError("partial_rotation", part=part, width=widths[1])
    theta = entries.pop("rope_theta", theta)
    scaling = _scaling(name, entries, config.get("max_position_embeddings"))
    if isinstance(scaling, YarnConfig):
        scaling = _as_modules_do(scaling, entries, latent)
    pairing = "interleaved" if interleaved else "half"
    return RopeConfig(theta=theta, pairing=pairing, scaling=scaling)


def _scaling(name: str, entries: Mapping[str, Any], longest: int | None) -> Scaling | None:
    keys = _keys(name)
    for key in entries:
        if key not in keys and (key != CONTEXT or name != "default"):
            raise CheckpointError(
                "rotation_entry",
                name=name,
                key=key,
                value=entries[key],
                known=", ".join(keys) or Phrase("nothing_more"),
            )
    if missing := [key for key in NEEDED[name] if key not in entries]:
        raise CheckpointError("rotation_needs", name=name, keys=", ".join(missing))
    if name not in SCALINGS:
        return None
    if CONTEXT in keys:
        entries = {CONTEXT: longest} | dict(entries)
        if not entries[CONTEXT]:
            raise CheckpointError("rotation_needs", name=name, keys=CONTEXT)
    if name == "longrope" and longest:
        entries = {"factor": longest / entries[CONTEXT]} | entries
    ours = {keys[key]: value for key, value in entries.items()}
    lists = {key: tuple(value) for key, value in ours.items() if isinstance(value, list)}
    return SCALINGS[name](**(ours | lists))


def _keys(name: str) -> dict[str, str]:
    """Return the keys of a rope_type with the engine's names of them; only one differs."""
    ours = [field.name for field in fields(SCALINGS[name])] if name in SCALINGS else []
    return {CONTEXT if one == "original_max_position" else one: one for one in ours}


def _as_modules_do(yarn: YarnConfig, entries: Mapping[str, Any], latent: bool) -> YarnConfig:
    """Stretch cos and sin by m(mscale) / m(mscale_all_dim) only where both are given."""
    given = entries.get("mscale") and entries.get("mscale_all_dim")
    if yarn.attention_factor is None and not given:
        yarn = replace(yarn, attention_factor=yarn.magnitude(1.0))
    if latent:
        return yarn
    return replace(yarn, attention_factor=yarn.rotation_magnitude, mscale=1.0, mscale_all_dim=0.0)
