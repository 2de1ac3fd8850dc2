"""What the page quality shows: the study, and the task and load whose answers are counted."""

from dataclasses import dataclass

from mla_engine.language_model.study import Spread, Study, differ
from mla_engine.language_model.texts import TASKS
from ui.pages.quality import run
from ui.pages.quality.settings import EVERY_LOAD, EVERY_TASK
from ui.settings import state
from ui.settings.page import Note

PAIR = ("mqa", "mla")  # that cache as much as each other
ROTATED = ("mha", "mha_partial")  # all dimensions, and a half


@dataclass(frozen=True)
class View:
    """The study at a task and a load, or at every one of them."""

    study: Study
    task: str
    load: int

    def accuracy(self, variant: str) -> Spread | None:
        """The share of right answers over the seeds; None where the variant was not run."""
        return self.accuracy_at(variant, self.load)

    def accuracy_at(self, variant: str, load: int) -> Spread | None:
        """The same at any load of the task."""
        return self.study.accuracy(variant, self.one_task, None if load == EVERY_LOAD else load)

    def shares(self, variant: str) -> list[float]:
        """The share of right answers of each seed."""
        load = None if self.load == EVERY_LOAD else self.load
        return self.study.shares(variant, self.one_task, load)

    @property
    def one_task(self) -> str | None:
        """The task, unless all are taken together."""
        return None if self.task == EVERY_TASK else self.task

    def cached(self, variant: str) -> int:
        """Numbers a token and layer."""
        return self.study.plan.variants[variant].cached

    @property
    def caches(self) -> list[str]:
        """The variants of different caches that were run."""
        return self.study.measured(self.study.plan.caches)

    @property
    def compared(self) -> bool:
        """Whether both of the pair were run, and MHA."""
        return len(self.study.measured((*PAIR, "mha"))) == len(PAIR) + 1

    def loser(self, pair: tuple[str, str] = PAIR) -> str | None:
        """Which of two answers less, beyond what seeds differ by; None if neither clearly does."""
        one, other = (self.accuracy(code) for code in pair)
        if not differ(one, other):
            return None
        return pair[0] if one.mean < other.mean else pair[1]


def loads(task: str) -> tuple[int, ...]:
    """Of a task, from light to heavy; of all tasks together their places, 1 the lightest."""
    if task == EVERY_TASK:
        return tuple(range(1, 1 + min(len(one.loads) for one in TASKS.values())))
    return TASKS[task].loads


def mend() -> list[Note]:
    """Bring the load to the nearest that the task has."""
    s = state.settings()
    if s["quality_load"] == EVERY_LOAD:
        return []
    near = min(loads(s["quality_task"]), key=lambda load: abs(load - s["quality_load"]))
    return state.nearest(quality_load=near)


def view() -> View:
    """The present view.

    Raises:
        RefusedError: nothing was trained yet.
    """
    s = state.settings()
    return View(run.study(), s["quality_task"], s["quality_load"])
