"""The code behind the page quality."""

from mla_engine.language_model.study import Study, read
from mla_engine.language_model.study_rows import read_plan
from ui.pages.quality.view import View
from ui.settings.page import Functions


def ran(_view: View) -> Functions:
    """What reads the rows and sums them up."""
    return read, read_plan, Study.of, Study.measured, Study.accuracy, Study.not_run
