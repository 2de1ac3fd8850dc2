"""One interpreter for all tests of a worker."""

from collections.abc import Iterator

import pytest

from tests.kernels.interpreter import Interpreter


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter]:
    one = Interpreter()
    yield one
    one.close()
