"""Unchanged elements are sent by name, and a picture that moves is sent alone."""

import pytest

from benchmarks.measuring import Visitor, places

NAMED_FROM = 1000  # bytes, in .streamlit/config.toml
ITS_PLACE = 200  # bytes of a message beside the element


class Reader(Visitor):
    """A visitor that keeps the sizes of the elements that came."""

    def __init__(self, app):
        super().__init__(app)
        self.sizes = []

    def _take(self, message):
        if message.delta.WhichOneof("type") == "new_element":
            self.sizes.append((message.ByteSize(), message.delta.new_element.WhichOneof("type")))
        super()._take(message)


@pytest.mark.parametrize("page", ["", "kv_cache", "rope"])
def test_what_did_not_change_is_not_sent_again(app, page):
    with Reader(app) as reader:
        reader.open(page)
        assert max(reader.sizes)[0] > 20 * NAMED_FROM
        reader.rerun()  # of the first run a few texts differ
        reader.sizes.clear()
        reader.rerun()
        assert max(reader.sizes)[0] < NAMED_FROM + ITS_PLACE


def test_a_picture_that_changes_brings_no_library(app):
    with Reader(app) as reader:
        reader.open("rope")
        assert max(reader.sizes)[0] > 100_000  # what moves pictures
        reader.sizes.clear()
        slider = reader.slider()
        reader.move(slider, places(slider, 1)[0])
        assert 20_000 < max(reader.sizes)[0] < 40_000
        assert max(reader.sizes)[1] == "bidi_component"
