"""Small layers without what is done before each call of a large one."""

from collections.abc import Iterator

import pytest

from mla_engine import budget, estimate


@pytest.fixture(scope="module")
def unmeasured() -> Iterator[None]:
    """No call is tried without data for the memory that it needs: most of a small call's time.

    test_estimate.py, test_needed.py and test_budget.py test what such a trial finds.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "peak_bytes", lambda *_: 0)
        patch.setattr(budget, "peak_bytes", lambda _: 0)
        yield
