"""Count the Python functions that a rerun of a page calls.

    python benchmarks/calls.py --page kv_cache --change kv_context=65536
    python benchmarks/calls.py --page attention_maps
    python benchmarks/calls.py --page kv_cache --change kv_context=65536 --most 20

The page runs in this process, as its tests run it. Counted are the calls from the first line of its
storyboard to the last: those of the project's functions, and of all, Streamlit's among them. What
the first runs make is made before. The number does not depend on how busy the machine is.
"""

import argparse
import logging
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]
RUNS = 3  # before the one that is counted
SECONDS = 600
FILES = {
    path
    for name in ("ui", "pages", "mla_engine", "kvcount")
    for path in ROOT.glob(f"{name}/**/*.py")
}


def storyboard(page: str) -> Path:
    """Return the file of a page."""
    return ROOT / ("app.py" if page == "overview" else f"pages/{page}.py")


def opened(page: str) -> AppTest:
    """Return a page where everything that its first runs make is made."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
    if page != "overview":
        at.switch_page(f"pages/{page}.py")
    for _ in range(RUNS):
        at.run()
        assert not at.exception
    return at


def set_value(at: AppTest, setting: str, value: str) -> None:
    """Move the slider or choose the option of a setting."""
    every = (*at.select_slider, *at.slider, *at.selectbox, *at.toggle)
    widget = next(one for one in every if one.key.split(":")[0] == setting)
    widget.set_value(type(widget.value)(value))


def calls_of_rerun(at: AppTest, file: Path) -> Counter[CodeType]:
    """Run the page once; return how often its storyboard had each function called."""
    calls: Counter[CodeType] = Counter()
    running: list[FrameType] = []

    def count(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and running:
            calls[code] += 1
        elif event == "call" and code.co_name == "<module>" and code.co_filename == str(file):
            running.append(frame)
        elif event == "return" and running == [frame]:
            running.clear()

    threading.setprofile(count)  # each run of a test's page has a thread of its own
    try:
        at.run()
    finally:
        threading.setprofile(None)
    assert not at.exception
    return calls


def main() -> None:
    """Print the number of calls, and the functions that are called most."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", default="kv_cache")
    parser.add_argument("--change", default="", help="setting=value; without it, nothing changes")
    parser.add_argument("--most", type=int, default=0, help="functions to name, most called first")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # of Streamlit, that no server runs
    at = opened(asked.page)
    if asked.change:
        set_value(at, *asked.change.split("=", 1))
    calls = calls_of_rerun(at, storyboard(asked.page))
    ours = Counter({code: n for code, n in calls.items() if Path(code.co_filename) in FILES})
    files = {code.co_filename for code in ours}
    changed = asked.change or "unchanged"
    print(f"{asked.page} {changed}: {ours.total():,} calls of the project's functions", end="")
    print(f" in {len(files)} files, {calls.total():,} of all")
    for code, n in ours.most_common(asked.most):
        place = Path(code.co_filename).relative_to(ROOT)
        print(f"{n:9,}  {code.co_qualname}  {place}:{code.co_firstlineno}")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
