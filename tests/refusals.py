"""Refusals by their codes and values: the sentence may change."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kvcount.refusals import Phrase, RefusedError


@contextmanager
def refusing(code: str, /, **values: object) -> Iterator[pytest.ExceptionInfo[RefusedError]]:
    """Expect a refusal that says this, itself or in a part of it, with values that read so."""
    with pytest.raises(RefusedError) as caught:
        yield caught
    said = {part.code: part.values for part in _parts(caught.value)}
    assert code in said
    found = {name: str(said[code][name]) for name in values}
    assert found == {name: str(value) for name, value in values.items()}


def _parts(said: object) -> Iterator[RefusedError | Phrase]:
    if isinstance(said, RefusedError | Phrase):
        yield said
        for value in said.values.values():
            yield from _parts(value)
