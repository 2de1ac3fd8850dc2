"""The declaration of a page, and the registry of all: what knows a page follows from its `Page`."""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from ui.settings.parsers import PANELS, Setting
from ui.settings.shared import SHARED

HOME = "overview"
DIGITS = 18  # of a number that a browser may name
GROUPS = "understand", "explore", "size", "check"  # of the navigation, in lecture order


@dataclass(frozen=True)
class Note:
    """A parameter of a link that had to change: `used` stands for `given`, None if unknown.

    Where another text tells it, `key` is that text's.
    """

    name: str
    given: str
    used: object
    key: str = ""


@dataclass(frozen=True)
class Link:
    """A page by its name, and the state that it opens with."""

    page: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Stops:
    """Where a clicker stops on a page, in order.

    Args:
        codes: of the stops, as the browser names them.
        at: the place of the present one.
        go: sets what one of the codes names.
        below: whether what stands below the window is gone through at every stop; else it comes
            after the last one.
    """

    codes: tuple[str, ...]
    at: int
    go: Callable[[str], None]
    below: bool = False

    def nearest(self, code: str) -> str:
        """Return this stop, or the nearest: by its number, or the one that is shown."""
        if code in self.codes:
            return code
        numbered = [one for one in self.codes if one.isdecimal()]
        if not (numbered and re.fullmatch(r"-?[0-9]+", code)):
            return self.codes[self.at]
        number = int(code[:DIGITS])
        return min(numbered, key=lambda one: abs(int(one) - number))


Functions = tuple[Callable[..., Any], ...]
Recipe = tuple[str, Mapping[str, object]]  # the name of a snippet's template, its values


def nothing(_view: object) -> Functions:
    """The code behind a page that runs nothing of the engine."""
    return ()


def joined(*topics: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the settings of a page's topics in one table.

    Raises:
        ValueError: a setting that two topics declare.
    """
    table: dict[str, Setting] = {}
    for settings in topics:
        for name in settings:
            if name in table:
                raise ValueError(f"the setting {name!r} is declared by two topics of a page")
        table |= settings
    return table


def those(which: Callable[[type[AttentionConfig]], bool] = bool) -> tuple[str, ...]:
    """Return the keys of the mechanisms whose configurations are such; by default of all."""
    return tuple(one.key for one in mechanisms.all() if which(one.config_type))


def any_layer(_config: AttentionConfig) -> bool:
    """Take every layer of a real model."""
    return True


def mla_layer(config: AttentionConfig) -> bool:
    """Take those with a latent, every one of which is read."""
    return config.has_latent and config.reads_all


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One figure of a page, with its title, its sentence, its controls, its data and its code.

    What it draws it makes of the page's view. A page draws its panels in a column, or the one that
    is chosen; an embed draws one alone.

    Args:
        name: of its file; others call it by its page's name, too: "kv_cache.context".
        settings: those of its page that it reads.
        title: states its point; of the first panel also of no view, where none can be made.
        draw: draws the figure, and its controls beside it.
        lead: returns its number, and the sentence that the number completes; None for neither.
        alone: draws the controls that another panel of its page has, where it stands alone.
        there: tells whether a view has it.
        look: says what to look at.
        question: asks something before the answer shows; None where there is nothing to ask.
        data: makes the table behind it; None where each picture in it has its own.
        shown: settings with which the page shows it.
        code: as of `Page`.
        snippet: as of `Page`.
    """

    name: str
    settings: tuple[str, ...]
    title: Callable[[Any], str]
    draw: Callable[[Any], object]
    lead: Callable[[Any], tuple[str, str]] | None = None
    alone: Callable[[Any], object] = lambda _view: None
    there: Callable[[Any], bool] = lambda _view: True
    look: Callable[[Any], str] = lambda _view: ""
    question: Callable[[Any], Any] = lambda _view: None
    data: Callable[[Any], Any] | None = None
    shown: Mapping[str, object] = field(default_factory=dict)
    code: Callable[[Any], Functions] = nothing
    snippet: Callable[[Any], Recipe] | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the app.

    Args:
        name: of its folder in ui/pages, of its storyboard, and in links.
        group: of GROUPS, where it stands in the navigation.
        order: its place there, in lecture order.
        settings: what it adds to the settings of a link.
        mechanisms: keys of those whose variants and ways it shows.
        sizes: whether the chip above it has the preset picker and the sliders of the sizes.
        opens: settings that it opens with where no other model is named, with a source of its own.
        empty: whether it shows nothing without a source: only another source is another model.
        checkpoints: which layers of real models can stand in for them; None where none can.
        every_kind: whether it shows a real layer of a kind, too, that is not offered for any sizes.
        trained: whether the trained models read the shared sentence there; where it has sizes, one
            of their layers stands in for them until others are chosen.
        fresh_texts: whether they read fresh texts of their language there, and not that sentence.
        drawn: whether its own settings ask for weights drawn at random in the place of trained.
        lecture: the settings whose controls stand in the bar of lecture mode.
        stops: where a clicker stops on it; None where it has one place alone.
        mend: brings its settings within what there is; notes on what a link had asked for.
        code: functions of the engine that ran for a view, shown as the code behind the page.
        snippet: template and values of the snippet that makes the numbers of a view, or of several:
            that of the number on top first.
        links: other pages that it leads to.
        recorded: of the shared settings that it has, which values a static copy has; as `Setting`.
        crossed: groups of settings, and of buttons by their keys, that a static copy has in every
            combination, chosen in this order.
        uploads: whether it takes files of its visitors; one of sizes takes a config.json anyway.
        panels: its figures, each of which can be asked for by its name.
        view: makes what its panels are drawn of from the settings; may raise ValueError.
        former: names that it, or a page that it took in, had: their links open it.
    """

    name: str
    group: str
    order: int
    settings: Mapping[str, Setting] = field(default_factory=dict)
    mechanisms: tuple[str, ...] = field(default_factory=those)
    sizes: bool = True
    opens: Callable[[], Mapping[str, object]] = dict
    empty: bool = False
    checkpoints: Callable[[AttentionConfig], bool] | None = None
    every_kind: bool = False
    trained: bool = False
    fresh_texts: bool = False
    drawn: Callable[[], bool] = bool
    lecture: tuple[str, ...] = ()
    stops: Callable[[], Stops | None] = lambda: None
    mend: Callable[[], list[Note]] = list
    code: Callable[[Any], Functions] = nothing
    snippet: Callable[[Any], Recipe | list[Recipe]] | None = None
    links: tuple[Link, ...] = ()
    recorded: Mapping[str, bool | tuple] = field(default_factory=dict)
    crossed: tuple[tuple[str, ...], ...] = ()
    uploads: bool = False
    panels: tuple[Panel, ...] = ()
    view: Callable[[], Any] = lambda: None
    former: tuple[str, ...] = ()

    @property
    def variants(self) -> tuple[str, ...]:
        """Codes of the variants that it shows, in the order in which they are offered."""
        every = mechanisms.offered()
        return tuple(code for code in every if mechanisms.of_variant(code).key in self.mechanisms)

    def panel(self, name: str) -> Panel:
        """Return its panel of this name."""
        return next(one for one in self.panels if one.name == name)

    @property
    def file(self) -> str:
        """Its storyboard, as Streamlit names it."""
        return "app.py" if self.name == HOME else f"pages/{self.name}.py"


PAGES: dict[str, Page] = {}
"""Name -> page, in lecture order."""

SETTINGS: dict[str, Setting] = dict(SHARED)
"""Every setting: those that hold on every page, and then those of each."""

FORMER_PAGES: dict[str, str] = {}
FORMER_SETTINGS: dict[str, str] = {}
"""Names that pages and settings had -> those that they have."""


class PageError(Exception):
    """A page that cannot be opened, with its file and the name that is wrong."""


def register(pages: list[Page]) -> None:
    """Take in all pages at once.

    Raises:
        PageError: an unknown group, two pages of one place, or a name that is taken.
    """
    PAGES.clear()
    SETTINGS.clear()
    SETTINGS.update(SHARED)
    owners = dict.fromkeys(SHARED, "the shared settings")
    for page in sorted(pages, key=_place):
        for other in PAGES.values():
            if _place(other) == _place(page):
                place = f"order {page.order} of {page.group!r}"
                raise PageError(f"{home(page.name)}: {place} is that of {other.name}")
        for name in page.settings:
            if name in owners:
                raise PageError(f"{home(page.name)}: setting {name!r} belongs to {owners[name]}")
            owners[name] = home(page.name)
            texts = f"{page.name}.{short(name)}"
            SETTINGS[name] = replace(page.settings[name], texts=texts)
        PAGES[page.name] = page
    PANELS[:] = [f"{page.name}.{one.name}" for page in PAGES.values() for one in page.panels]
    former = {page.name: page.former for page in PAGES.values()}
    _note_former(FORMER_PAGES, PAGES, former, "page")
    former = {name: setting.former for name, setting in SETTINGS.items()}
    _note_former(FORMER_SETTINGS, SETTINGS, former, "setting")


def _note_former(
    table: dict[str, str], there: Container[str], former: Mapping[str, tuple[str, ...]], kind: str
) -> None:
    table.clear()
    for name, old_names in former.items():
        for old in old_names:
            if old in there or old in table:
                other = table.get(old, old)
                raise PageError(f"{kind} {name!r}: its former name {old!r} is that of {other!r}")
            table[old] = name


def with_present_names(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return a link's parameters by the names that settings have now; those are before former."""
    renamed = {FORMER_SETTINGS.get(name, name): text for name, text in parameters.items()}
    return renamed | {name: text for name, text in parameters.items() if name in SETTINGS}


def short(name: str) -> str:
    """Return a setting's name without the part that its page's settings begin with."""
    return name.partition("_")[2]


def _place(page: Page) -> tuple[int, int]:
    """Return its place in the navigation."""
    if page.group not in GROUPS:
        known = ", ".join(GROUPS)
        raise PageError(f"{home(page.name)}: group {page.group!r} is none of {known}")
    return GROUPS.index(page.group), page.order


def home(name: str) -> str:
    """Return the file in which a page declares itself."""
    return f"ui/pages/{name}/__init__.py"
