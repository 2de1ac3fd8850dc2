"""Processor time of every test, summed by folder at the end of a run (a pytest plugin).

`--spent FILE` also writes the seconds of each test as JSON.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
spent: Counter[str] = Counter()  # of the controlling process: node id -> seconds
_before = 0.0


def _processor_seconds() -> float:
    """User and system time of this process and of the children it has waited for."""
    return sum(os.times()[:4])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spent", type=Path, help="write each test's processor seconds to this file")


def pytest_collection_finish() -> None:
    global _before
    _before = _processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    global _before
    report = yield
    now = _processor_seconds()
    report.user_properties = [*report.user_properties, ("processor_seconds", now - _before)]
    _before = now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    spent[report.nodeid] += dict(report.user_properties).get("processor_seconds", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not spent:
        return
    folders, files = Counter(), Counter()
    for name, seconds in spent.items():
        file = name.partition("::")[0]
        files[file] += seconds
        folders[file.removeprefix("tests/").rpartition("/")[0] or "."] += seconds
    terminalreporter.section("processor seconds")
    terminalreporter.line(f"all {sum(folders.values()):.0f}; " + _listed(folders, 30))
    terminalreporter.line("dearest files: " + _listed(files, 10))
    if file := terminalreporter.config.getoption("spent"):
        file.write_text(json.dumps(spent, indent=0), "utf-8")


def _listed(counted: Counter[str], most: int) -> str:
    return ", ".join(f"{name} {seconds:.0f}" for name, seconds in counted.most_common(most))
