"""The settings of the page quality."""

from mla_engine.language_model.texts import TASKS
from ui.settings.parsers import Setting, one_of, whole

EVERY_TASK, EVERY_LOAD = "all", -1
HEAVIEST = max(task.loads[-1] for task in TASKS.values())

SETTINGS = {
    "quality_task": Setting(EVERY_TASK, one_of(EVERY_TASK, *TASKS)),
    "quality_load": Setting(EVERY_LOAD, whole(EVERY_LOAD, HEAVIEST)),
}
