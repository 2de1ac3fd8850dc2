"""The settings of the page quality."""

from mla_engine.language_model.texts import TASKS
from ui.settings.parsers import Setting, one_of, whole

AUTOMATIC = -1  # the load that separates the variants most
HEAVIEST = max(task.loads[-1] for task in TASKS.values())

SETTINGS = {
    "quality_task": Setting("recall", one_of(*TASKS)),
    "quality_load": Setting(AUTOMATIC, whole(AUTOMATIC, HEAVIEST)),
}
