"""The faults that `benchmarks/faults.py` plants: each is of a line that is there, once."""

import pytest

from benchmarks.faults import ROOT, Fault, faults

FAULTS = faults()


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{f.room}: {f.kind}" for f in FAULTS])
def test_a_planted_fault_is_of_one_line_that_is_there(fault: Fault) -> None:
    assert (ROOT / fault.file).read_text("utf-8").count(fault.old) == 1
    assert fault.new != fault.old


def test_each_fault_names_tests_of_make_test() -> None:
    assert not [fault for fault in FAULTS if not fault.named]
