"""The values of all settings: by default, as a link says them, and as a link's parameters.

Nothing here knows a session: `ui.settings.state` keeps one's values, and the link of its browser.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ui.settings.page import PAGES, SETTINGS, Note, with_present_names
from ui.settings.parsers import as_text, says
from ui.settings.shared import LANGUAGES, PUBLISHED, SIZES
from ui.settings.sizes import implied, published

IMPLIED = (*SIZES, "variant")  # settings whose default follows the preset
Values = Mapping[str, Any]  # of settings, by their names


@dataclass(frozen=True)
class Place:
    """The page and browser that defaults depend on, apart from the preset.

    Args:
        page: its name.
        language: of the browser, two letters; "" where it names none.
        opens: what the page opens with where no other model is named, its source too.
    """

    page: str
    language: str = ""
    opens: Values = field(default_factory=dict)

    def opened_with(self, values: Values) -> Values:
        """Return what the page opens with; nothing where these values name another model."""
        return {} if self.of_another_model(values) else self.opens

    def opening(self, values: Values) -> dict[str, object]:
        """Return the defaults of the page alone: what it opens with, but for the source itself."""
        return {name: one for name, one in self.opened_with(values).items() if name != "source"}

    def of_another_model(self, values: Values) -> bool:
        """Tell whether the values name another model; of an empty page, another source."""
        page = PAGES.get(self.page)
        if page is None or page.empty:
            return bool(values.get("source"))
        usual = usual_model()
        return {**usual, **{name: values[name] for name in usual if name in values}} != usual

    def defaults(self, values: Values) -> Values:
        """Return every default beside these values; read-only."""
        opening = self.opening(values)
        return _defaults(values["preset"], self.language, tuple(opening.items()))


@lru_cache(maxsize=1)
def usual_model() -> Values:
    """Return the settings that name another model, as they are where they name none."""
    usual = {name: one.default for name, one in SETTINGS.items() if one.another_model}
    return usual | {n: value for n, value in implied(usual["preset"]).items() if n in usual}


@lru_cache(maxsize=512)
def _defaults(preset: str, language: str, opening: tuple[tuple[str, object], ...]) -> Values:
    every = {name: one.default for name, one in SETTINGS.items()}
    if published(preset) != PUBLISHED:
        every |= {name: one.follows(preset) for name, one in SETTINGS.items() if one.follows}
    every |= {name: value for name, value in implied(preset).items() if name in IMPLIED}
    if language in LANGUAGES:
        every["lang"] = language
    return MappingProxyType(every | dict(opening))


def forget() -> None:
    """Forget all that was worked out of the settings that there were."""
    usual_model.cache_clear()
    _defaults.cache_clear()


def first(place: Place) -> dict[str, Any]:
    """Return the values of a page whose link names nothing."""
    return from_parameters({}, place)[0]


def from_parameters(
    parameters: Mapping[str, str], place: Place, given_twice: Mapping[str, list[str]] | None = None
) -> tuple[dict[str, Any], list[Note]]:
    """Return the values that a link of a page means, and a note on each that had to change.

    Args:
        parameters: of the link.
        place: the page.
        given_twice: all texts of a name that the link has more than once.
    """
    parameters = with_present_names(parameters)
    values, usual = {}, usual_model()  # others' defaults follow these
    notes = [Note(name, text, None) for name, text in parameters.items() if name not in SETTINGS]

    def take(names: Iterable[str]) -> None:
        defaults = place.defaults(values)
        for name in names:
            text, value = parameters.get(name), defaults[name]
            if text is not None:
                with suppress(ValueError):
                    value = SETTINGS[name].parse(text)
                if not says(text, value):
                    notes.append(Note(name, text, value))
                elif several := (given_twice or {}).get(name):
                    notes.append(Note(name, ", ".join(several), value))
            values[name] = value

    values.update(usual)
    take(["preset"])
    take(name for name in usual if name != "preset")
    names_a_model = usual.keys() & parameters.keys() - {"made_up"}
    if names_a_model and place.opening(values) and not PAGES[place.page].empty:
        values["made_up"] = True  # by a link that names a model which is the usual one
    take(name for name in SETTINGS if name not in usual)
    order = {name: at for at, name in enumerate(SETTINGS)}
    return values, sorted(notes, key=lambda note: order.get(note.name, -1))


def to_parameters(values: Values, place: Place) -> dict[str, str]:
    """Return the values that differ from their defaults, as a link has them."""
    usual = place.defaults(values)
    return {name: as_text(value) for name, value in values.items() if value != usual[name]}


def moved_along(values: Values, opened: Values, place: Place) -> dict[str, Any]:
    """Return the values beside which a page's own opening has taken the place of an earlier one.

    What a page opened with alone does not go along to another.

    Args:
        values: those of the settings.
        opened: what they were opened with.
        place: where they are now.
    """
    now, moved = place.opening(values), dict(values)
    for name in opened.keys() | now.keys():
        if values[name] == opened.get(name, SETTINGS[name].default):
            moved[name] = now.get(name, SETTINGS[name].default)
    return moved
