"""The study of this server's trained models, at the task and load whose answers are counted."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from mla_engine.language_model import study as studies
from mla_engine.language_model.study import Spread, Study, differ
from mla_engine.language_model.texts import TASKS
from ui.engine import shared_cache
from ui.parts import one_cache
from ui.parts.control import control
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import Setting, one_of, whole
from ui.sources import trained
from ui.words.numbers import count
from ui.words.text import t

EVERY_TASK, EVERY_LOAD = "all", -1
HEAVIEST = max(task.loads[-1] for task in TASKS.values())
SETTINGS = {
    "quality_task": Setting(EVERY_TASK, one_of(EVERY_TASK, *TASKS), "selectbox", recorded=True),
    "quality_load": Setting(
        EVERY_LOAD,
        whole(EVERY_LOAD, HEAVIEST),
        "segmented_control",
        write=lambda load: t("quality.every") if load == EVERY_LOAD else count(load),
    ),
} | one_cache.settings("quality")
PAIR = ("mqa", "mla")  # that cache as much as each other
FOLDER = trained.FOLDER


def study() -> Study:
    """Return what has been measured so far, read once until a file of it changes.

    Raises:
        RefusedError: nothing was trained yet, or the plan is damaged.
    """
    files = (FOLDER / "plan.json", *studies.files(FOLDER))
    found = (file.stat() for file in files if file.exists())
    return _study(str(FOLDER), tuple((one.st_mtime_ns, one.st_size) for one in found))


@shared_cache.cached
def _study(folder: str, _state: tuple[tuple[int, int], ...]) -> Study:
    return studies.read(Path(folder))


@dataclass(frozen=True)
class View:
    """The study at a task and a load, or at every one of them."""

    study: Study
    chosen: SimpleNamespace

    def accuracy(self, variant: str) -> Spread | None:
        """Return the share of right answers over the seeds; None where it was not run."""
        return self.accuracy_at(variant, self.chosen.load)

    def accuracy_at(self, variant: str, load: int) -> Spread | None:
        """Return the same at any load of the task."""
        return self.study.accuracy(variant, self.one_task, None if load == EVERY_LOAD else load)

    def shares(self, variant: str) -> list[float]:
        """Return the share of right answers of each seed."""
        load = None if self.chosen.load == EVERY_LOAD else self.chosen.load
        return self.study.shares(variant, self.one_task, load)

    @property
    def one_task(self) -> str | None:
        """The task, unless all are taken together."""
        return None if self.chosen.task == EVERY_TASK else self.chosen.task

    def cached(self, variant: str) -> int:
        """Return the numbers that it caches of a token in a layer."""
        return self.study.plan.variants[variant].cached

    @property
    def caches(self) -> list[str]:
        """The variants of different caches that were run."""
        return self.study.measured(self.study.plan.caches)

    @property
    def compared(self) -> bool:
        """True if both of the pair were run, and MHA."""
        return len(self.study.measured((*PAIR, "mha"))) == len(PAIR) + 1

    def loser(self, pair: tuple[str, str] = PAIR) -> str | None:
        """Return which of two answers less beyond what seeds differ by; None if neither does."""
        one, other = (self.accuracy(code) for code in pair)
        if not differ(one, other):
            return None
        return pair[0] if one.mean < other.mean else pair[1]


def loads(task: str) -> tuple[int, ...]:
    """Return those of a task, from light to heavy; of all tasks their places, 1 the lightest."""
    if task == EVERY_TASK:
        return tuple(range(1, 1 + min(len(one.loads) for one in TASKS.values())))
    return TASKS[task].loads


def mend() -> list[Note]:
    """Bring the load to the nearest that the task has."""
    chosen = state.chosen("quality")
    if chosen.load == EVERY_LOAD:
        return []
    near = min(loads(chosen.task), key=lambda load: abs(load - chosen.load))
    return state.nearest(quality_load=near)


def view() -> View:
    """Return the present view.

    Raises:
        RefusedError: nothing was trained yet.
    """
    return View(study(), state.chosen("quality"))


def controls(view: View) -> None:
    """Draw task and load; another task begins with all of its loads together."""
    task = view.chosen.task
    control("quality_task", then=lambda: state.change(quality_load=EVERY_LOAD))
    every = (EVERY_LOAD, *loads(task))
    control("quality_load", label=t(f"quality.load_{task}"), options=every)
