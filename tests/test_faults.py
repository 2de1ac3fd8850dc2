"""The faults that `benchmarks/faults.py` plants: each is of a line that is there, once."""

import pytest

from benchmarks.faults import ROOT, Found, Results, faults

FAULTS = faults()


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{f.room}: {f.kind}" for f in FAULTS])
def test_a_planted_fault_is_of_one_line_that_is_there(fault):
    assert (ROOT / fault.file).read_text("utf-8").count(fault.old) == 1
    assert fault.new != fault.old


def test_each_fault_names_tests_of_make_test():
    assert not [fault for fault in FAULTS if not fault.named]


def test_a_run_that_was_broken_off_goes_on_with_what_its_file_has(tmp_path):
    file, about, found = tmp_path / "faults.json", {"commit": "abc", "seed": 28}, Found("one", 1.5)
    Results(file, about).add(FAULTS[0], found)
    assert Results(file, about)[FAULTS[0]] == found
    assert FAULTS[1] not in Results(file, about)
    assert FAULTS[0] not in Results(file, about | {"commit": "def"})
