"""The answers of models trained with each cache, at the task and load that are chosen."""

from dataclasses import dataclass
from pathlib import Path

from mla_engine.language_model import study as studies
from mla_engine.language_model.study import Spread, Study, differ
from mla_engine.language_model.texts import TASKS
from ui.engine import shared_cache
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import Setting, one_of, whole
from ui.sources import trained
from ui.words.numbers import count
from ui.words.text import t

EVERY_TASK, EVERY_LOAD = "all", -1
HEAVIEST = max(task.loads[-1] for task in TASKS.values())
SETTINGS = {
    "quality_task": Setting(
        EVERY_TASK,
        one_of(EVERY_TASK, *TASKS),
        "selectbox",
        "quality.task",
        write=lambda task: t(f"quality.task_{task}"),
        recorded=True,
    ),
    "quality_load": Setting(
        EVERY_LOAD,
        whole(EVERY_LOAD, HEAVIEST),
        "segmented_control",
        write=lambda load: t("quality.every") if load == EVERY_LOAD else count(load),
    ),
}
PAIR = ("mqa", "mla")  # that cache as much as each other
FOLDER = trained.FOLDER


Kept = tuple[str, tuple[tuple[int, int], ...]]
"""The key of a study: its folder, and when its files were written and how long they are."""


def kept() -> Kept:
    """Return the key of what has been measured so far: it is read once until a file changes."""
    files = (FOLDER / "plan.json", *studies.files(FOLDER))
    found = (file.stat() for file in files if file.exists())
    return str(FOLDER), tuple((one.st_mtime_ns, one.st_size) for one in found)


@shared_cache.cached
def _study(folder: str, _state: tuple[tuple[int, int], ...]) -> Study:
    return studies.read(Path(folder))


@dataclass(frozen=True)
class Quality:
    """The study of this server's trained models at a task and a load, or at every one of them.

    Tables that are made on a click hold it, and so it holds the study's key.

    Raises:
        RefusedError: of what asks the study: nothing was trained yet, or the plan is damaged.
    """

    kept: Kept
    task: str
    load: int

    @property
    def study(self) -> Study:
        """All that has been measured."""
        return _study(*self.kept)

    def accuracy(self, variant: str) -> Spread | None:
        """Return the share of right answers over the seeds; None where it was not run."""
        return self.accuracy_at(variant, self.load)

    def accuracy_at(self, variant: str, load: int) -> Spread | None:
        """Return the same at any load of the task."""
        return self.study.accuracy(variant, self.one_task, None if load == EVERY_LOAD else load)

    def shares(self, variant: str) -> list[float]:
        """Return the share of right answers of each seed."""
        load = None if self.load == EVERY_LOAD else self.load
        return self.study.shares(variant, self.one_task, load)

    @property
    def one_task(self) -> str | None:
        """The task, unless all are taken together."""
        return None if self.task == EVERY_TASK else self.task

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
    chosen = state.chosen("compression")
    if chosen.load == EVERY_LOAD:
        return []
    near = min(loads(chosen.task), key=lambda load: abs(load - chosen.load))
    return state.nearest(quality_load=near)


def present() -> Quality:
    """Return the study at the chosen task and load.

    Raises:
        RefusedError: nothing was trained yet, or the plan is damaged.
    """
    chosen = state.chosen("compression")
    here = Quality(kept(), chosen.task, chosen.load)
    _ = here.study  # read now, so that a refusal is told here
    return here
