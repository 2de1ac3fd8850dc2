"""The keys of a config.json that decide the cache, checked as they are asked for."""

from collections.abc import Mapping
from typing import Any

from kvcount import checks
from kvcount.reading.model_types import text_of
from kvcount.refusals import RefusedError

MOST = 2**24  # of any width or window
MOST_LAYERS = 2**12
MOST_SAID = 2**63  # a number that a message can quote
MOST_LISTED, MOST_LETTERS = 12, 200  # keys in a message, and letters of a key that anyone has


SAVED_AS = (  # what transformers calls keys in files that it saves, whatever their type's names
    "head_dim",
    "hidden_size",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "sliding_window",
)
TOLD_ONCE = ("hidden_size", "num_attention_heads", "num_hidden_layers")  # alike under both names


class UncountedError(RefusedError):
    """A cache that is not counted, in one sentence with what was found and what to do."""

    section = "count"


def language_model(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a config.json that describes the language model, with a model_type.

    Raises:
        UncountedError: no model_type anywhere.
    """
    found = text_of(config)
    if not isinstance(found.get("model_type"), str) or not found["model_type"]:
        raise UncountedError("no_model_type", keys=some(found))
    return found


def some(names: Mapping[str, Any]) -> str:
    """Return the first names, for a message."""
    every = sorted(map(str, names))
    listed = [name for name in every if len(name) <= MOST_LETTERS][:MOST_LISTED]
    more = [f"... ({len(every)})"] if len(listed) < len(every) else []
    return ", ".join(listed + more)


class Keys:
    """A config.json by key; `a.b` is key b of the object under a.

    Args:
        config: of the language model.
        names: what this model_type calls a key, where it has a name of its own.
        defaults: values of keys that are missing or null.
        own: values that a layer has instead.
        asked: the keys that have been asked for, by their names in the file.
        layer: what per_layer_config has for the layer, by the file's names.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        names: Mapping[str, str] | None = None,
        defaults: Mapping[str, Any] | None = None,
        own: Mapping[str, Any] | None = None,
        asked: set[str] | None = None,
        layer: Mapping[str, Any] | None = None,
    ) -> None:
        self.config, self._names = config, dict(names or {})
        self.asked: set[str] = set() if asked is None else asked
        self._defaults, self._own = dict(defaults or {}), dict(own or {})
        self.layer = dict(layer or {})
        self._renamed: set[str] = set()  # by one kind of its layers, not by its type
        self.model_type: str = config["model_type"]

    def having(self, **own: Any) -> "Keys":
        """Return the same with other values of some keys."""
        return self._with(own=self._own | own)

    def renamed(self, **names: str) -> "Keys":
        """Return the same with other names for some keys."""
        found = self._with(names=self._names | names)
        found._renamed |= set(names)
        return found

    def of_layer(self, layer: Mapping[str, Any]) -> "Keys":
        """Return the same as a layer has it for which per_layer_config says more."""
        return self._with(config={**self.config, **layer}, asked=set(), layer=layer)

    def _with(self, **changed: Any) -> "Keys":
        given = {
            "config": self.config,
            "names": self._names,
            "defaults": self._defaults,
            "own": self._own,
            "asked": self.asked,
            "layer": self.layer,
        }
        found = Keys(**(given | changed))
        found._renamed = set(self._renamed)
        return found

    def get(self, name: str) -> Any:
        """Return the value of a key, None where there is none or null."""
        if name in self._own:
            return self._own[name]
        found = self._found(own := self.name(name))
        if own != name and name in SAVED_AS and name not in {*self._names.values(), *self._renamed}:
            saved = self._found(name)
            if name in TOLD_ONCE and None not in (found, saved) and found != saved:
                told = {"key": own, "given": found, "other": name, "value": saved}
                raise UncountedError("contradiction", **told)
            found = saved if found is None else found
        return self._defaults.get(name) if found is None else found

    def _found(self, name: str) -> Any:
        self.asked.add(name)
        found: Any = self.config
        for step in name.split("."):
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    def name(self, name: str) -> str:
        """Return the key under which this model_type has it."""
        return self._names.get(name, name)

    def need(self, name: str) -> Any:
        """Return the value of a key; UncountedError where it is missing."""
        if (value := self.get(name)) is None:
            raise UncountedError("no_key", key=self.name(name), model_type=self.model_type)
        return value

    def whole(self, name: str, *, least: int = 1, most: int = MOST) -> int:
        """Return a whole number that must be there."""
        value = self.need(name)
        if isinstance(value, int) and abs(value) > MOST_SAID:
            raise UncountedError("huge_number", key=self.name(name), most=most)
        checks.whole(self.name(name), value, least=least, most=most)
        return value

    def whole_or(self, name: str, otherwise: int, *, least: int = 1) -> int:
        """Return a whole number, or another one where the key is missing."""
        return otherwise if self.get(name) is None else self.whole(name, least=least)

    def flag(self, name: str, otherwise: bool) -> bool:
        """Return a bool, or another one where the key is missing."""
        value = otherwise if self.get(name) is None else self.get(name)
        checks.flag(self.name(name), value)
        return value

    def list(self, name: str) -> list[Any]:
        """A list or a text that must be there, as a list of no more than some thousand entries."""
        value = self.need(name)
        checks.kind(self.name(name), value, (list, str))
        if len(value) > 2 * MOST_LAYERS:
            given = {"given": len(value), "most": 2 * MOST_LAYERS}
            raise UncountedError("long_list", key=self.name(name), **given)
        return value if isinstance(value, list) else list(value)

    def entry(self, name: str, layer: int) -> Any:
        """Return a layer's entry of a list or text that must have one for each."""
        if len(listed := self.list(name)) < self.n_layers:
            given = {"given": len(listed), "wanted": self.n_layers}
            raise UncountedError("list_length", key=self.name(name), **given)
        return listed[layer]

    @property
    def n_layers(self) -> int:
        """The number of layers."""
        return self.whole("num_hidden_layers", most=MOST_LAYERS)

    @property
    def max_context(self) -> int | None:
        """Tokens that the model was made for, None where that is not said."""
        names = ("max_position_embeddings", "model_max_length", "n_positions", "max_seq_len")
        found = next((value for name in names if (value := self.get(name)) is not None), None)
        if found is not None:
            checks.whole("max_position_embeddings", found, most=2**40)
        return found
