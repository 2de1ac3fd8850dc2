"""The study of this server's trained models, read once until a file of it changes."""

from pathlib import Path

from mla_engine.language_model import study as studies
from mla_engine.language_model.study import Study
from ui.engine import shared_cache, trained

FOLDER = trained.FOLDER


def study() -> Study:
    """What has been measured so far.

    Raises:
        RefusedError: nothing was trained yet, or the plan is damaged.
    """
    files = (FOLDER / "plan.json", *studies.files(FOLDER))
    state = (file.stat() for file in files if file.exists())
    return _study(str(FOLDER), tuple((one.st_mtime_ns, one.st_size) for one in state))


@shared_cache.cached
def _study(folder: str, _state: tuple[tuple[int, int], ...]) -> Study:
    return studies.read(Path(folder))
