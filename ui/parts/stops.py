"""Where a clicker stops on a page that has views to choose from, in a lecture."""

from collections.abc import Sequence

from ui.settings import state
from ui.settings.page import Stops


def of_views(
    name: str, views: Sequence[str], present: str, inner: Stops | None = None
) -> Stops | None:
    """Return the views of a page in order, of the present one its own stops.

    Outside a lecture a reader scrolls: there are the present view's own stops alone.

    Args:
        name: of the setting that chooses the view.
        views: what it can be.
        present: the view that is shown.
        inner: the stops within that view.
    """
    if not state.settings()["lecture"]:
        return inner
    place = views.index(present)
    own = inner.codes if inner else (present,)

    def go(code: str) -> None:
        if inner and code in inner.codes:
            inner.go(code)
        else:
            state.change(**{name: code})

    return Stops(
        (*views[:place], *own, *views[place + 1 :]),
        place + (inner.at if inner else 0),
        go,
        below=inner is None,
    )
