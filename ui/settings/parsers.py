"""Settings, and the parsers that read their text in a link.

A parser returns the nearest valid value or raises ValueError where there is none.
"""

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from kvcount import checks
from kvcount.dtypes import type_name
from kvcount.lengths import tokens
from kvcount.refusals import RefusedError
from mla_engine import PRESETS, mechanisms
from mla_engine.given_preset import MARK, read_given
from mla_engine.language_model.texts import WORDS
from mla_engine.presets import Preset
from mla_engine.studies.words import words_of

SMALL = "small"  # our own sizes, whose numbers can be read
TRAINED = "trained"  # our small models that were trained
ROOM_LETTERS, ROOM_LENGTH = "23456789ABCDEFGHJKMNPQRSTVWXYZ", 8  # none looks like another
LONGEST_NAME, ALIKE = 80, 0.6  # of a panel: as far as a wrong one is compared, how alike it is
MOST_WORDS, MOST_CHARACTERS = 256, 2000  # of a sentence that they read

OF_PRESETS = frozenset(one.key for one in mechanisms.all() if one.variants)  # that pages show

Parser = Callable[[str], object]
PANELS: list[str] = []  # of all pages, "kv_cache.context", as the registry of pages has them


def as_text(value: object) -> str:
    """A setting's value as a link says it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def says(text: str, value: object) -> bool:
    """Tell whether the text says this value, perhaps spelt in another way ("2", "128K", "FP8")."""
    if text in (as_text(value), str(value)):
        return True
    if isinstance(value, float | int):
        with suppress(ValueError):
            return float(text) == value
        return tokens(text) == value
    return type_name(text) == value


@dataclass(frozen=True)
class Setting:
    """A setting of a page: what it can be, and the widget that changes it.

    Args:
        default: its value where a link does not name it.
        parse: reads its text in a link.
        widget: Streamlit's name of the widget that `ui.parts.control` draws; empty without one.
        label: the key of the widget's label, by default the setting's own text.
        options: offered by a choice, by default those of the parser.
        write: writes an option, by default with its text, a number with its separators.
        personal: whether it stays out of links.
        follows: gives its default for a preset, once another than the app's is chosen.
        another_model: whether a link that names it means another model than the app's own real one.
        recorded: which values a static copy of the app has: all that are offered (True), or these;
            by default all of a segmented control, else only what a page opens with.
        former: names that it had: links that have them mean it.
        texts: where its texts begin, "rope.pair" for the setting "rope_pair"; set at registration.
    """

    default: object
    parse: Parser
    widget: str = ""
    label: str = ""
    options: Sequence[Any] = ()
    write: Callable[[Any], str] | None = None
    personal: bool = False
    follows: Callable[[str], object] | None = None
    another_model: bool = False
    recorded: bool | Sequence[Any] | None = None
    former: tuple[str, ...] = ()
    texts: str = ""

    def can_be(self, value: object) -> bool:
        """Tell whether a link can bring this value."""
        try:
            return self.parse(as_text(value)) == value
        except ValueError:
            return False


@dataclass(frozen=True)
class Whole:
    """Whole numbers, brought into the range and down to a multiple."""

    least: int
    most: int
    multiple_of: int = 1

    def __call__(self, text: str) -> int:
        """The nearest valid number."""
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
            raise ValueError(text)
        value = min(self.most, max(self.least, int(text)))
        return max(self.least, value - value % self.multiple_of)


def whole(least: int, most: int, multiple_of: int = 1) -> Whole:
    """Whole numbers, brought into the range and down to a multiple."""
    return Whole(least, most, multiple_of)


SIZES = {
    "d_model": whole(2, 16384),
    "n_heads": whole(1, 128),
    "n_kv_heads": whole(1, 128),
    "d_head": whole(2, 512, multiple_of=2),
    "d_value": whole(1, 512),
    "d_latent_kv": whole(1, 2048),
    "d_latent_q": whole(0, 4096),
    "d_rope": whole(0, 256, multiple_of=2),
}


@dataclass(frozen=True)
class Number:
    """Decimal numbers, brought into the range."""

    least: float
    most: float

    def __call__(self, text: str) -> float:
        """Return the nearest number of the range."""
        if not re.fullmatch(r"[+-]?[0-9]{0,12}\.?[0-9]{0,12}", text) or not math.isfinite(
            float(text)
        ):
            raise ValueError(text)
        return min(self.most, max(self.least, float(text)))


def number(least: float, most: float) -> Number:
    """Return a parser of decimal numbers within a range."""
    return Number(least, most)


@dataclass(frozen=True)
class OneOf:
    """Some codes, of which a text names one, as `read` takes it."""

    options: tuple[str, ...]
    read: Callable[[str], str] = str

    def __call__(self, text: str) -> str:
        """Return the code that the text is."""
        if (code := self.read(text)) not in self.options:
            raise ValueError(text)
        return code


def one_of(*options: str) -> OneOf:
    """Return a parser of one of these codes."""
    return OneOf(options)


def type_of(*options: str) -> OneOf:
    """Return a parser of one of these types of numbers, also as engines write them: FP8, f16."""
    return OneOf(options, type_name)


def words(most: int) -> Parser:
    """Free text of at most `most` characters; a longer one is refused whole."""

    def parse(text: str) -> str:
        if len(text) > most:
            raise ValueError(text)
        return text

    return parse


def flag(text: str) -> bool:
    """1 or 0; what str() makes of a bool is read as well."""
    values = {"1": True, "True": True, "0": False, "False": False}
    if text not in values:
        raise ValueError(text)
    return values[text]


def preset(text: str) -> str:
    """The key of a model, our trained models, or our own small sizes."""
    return text if text in (TRAINED, SMALL) else published(text)


def published(text: str) -> str:
    """The key of a published model, or of the reader's own with sizes that the pages show."""
    if is_own(text):
        check_shown(read_given(text))
        return text
    return one_of(*PRESETS)(text)


def is_own(key: object) -> bool:
    """Tell whether this is the key of a reader's own model, which holds all of the model."""
    return isinstance(key, str) and key.startswith(MARK)


def has_preset(key: str) -> bool:
    """Tell whether a key is that of a published model or of the reader's own."""
    return key in PRESETS or is_own(key)


def preset_of(key: str) -> Preset:
    """The published model of this key, or the reader's own."""
    return read_given(key) if is_own(key) else PRESETS[key]


def check_shown(preset: Preset) -> None:
    """Raise RefusedError for an attention, or a size by its name, that some page cannot show."""
    mechanism = mechanisms.of(preset.config)
    if mechanism.key not in OF_PRESETS:
        raise RefusedError("no_page", called=mechanism.called)
    for name, value in mechanisms.sizes_of(preset.config).items():
        if name in SIZES:
            check_whole(name, value, SIZES[name])


def check_whole(name: str, value: int, bounds: Whole) -> None:
    """Raise RefusedError for a number that a setting cannot have, with what it can be."""
    checks.whole(name, value, least=bounds.least, most=bounds.most)
    if (near := bounds(str(value))) != value:
        values = {"name": name, "value": value, "of": bounds.multiple_of, "near": near}
        raise RefusedError("no_multiple", **values)


WRITTEN = re.compile(r"[0-9,.]+[kKmM]?")  # old links with 1e3 open as they did


def power_of_two(least: int, most: int) -> Parser:
    """Powers of two in the range, also written 128K; others come down to the nearest below."""
    within = whole(least, most)

    def parse(text: str) -> int:
        written = tokens(text) if WRITTEN.fullmatch(text) else None
        found = within(text if written is None else str(written))
        return 1 << (found.bit_length() - 1)

    return parse


def optional(parse: Parser) -> Parser:
    """Return a parser that also reads "None"."""
    return lambda text: None if text == "None" else parse(text)


def sentence(text: str) -> str:
    """A text whose words can be run; the empty one stands for the page's own.

    Raises:
        TextError: as `words_of`.
    """
    if text:
        words_of(text)
    return text


def known(text: str) -> str:
    """A sentence of words that the trained models know; the empty one stands for the app's own.

    Raises:
        ValueError: another word, or more than are read.
    """
    written = text.lower().split()
    if len(text) > MOST_CHARACTERS or len(written) > MOST_WORDS or set(written) - set(WORDS):
        raise ValueError(text)
    return text


def panel(text: str) -> str:
    """The name of a panel, or the nearest one; the empty text is a whole page.

    Raises:
        ValueError: no panel has a name like it.
    """
    if not text or text in PANELS:
        return text
    page, _, _ = text.partition(".")
    of_page = [name for name in PANELS if name.startswith(f"{page}.")]
    near = get_close_matches(text[:LONGEST_NAME], of_page or PANELS, 1, 0 if of_page else ALIKE)
    if not near:
        raise ValueError(text)
    return near[0]


def room(text: str) -> str:
    """The code of a class, in capitals or not, with or without its hyphen; the empty one is none.

    Raises:
        ValueError: no class can have this code.
    """
    code = re.sub(r"[\s-]", "", text[:40]).upper()
    if code and (len(code) != ROOM_LENGTH or set(code) - set(ROOM_LETTERS)):
        raise ValueError(text)
    return code
