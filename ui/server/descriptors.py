"""Sockets and files that the process may have open: a session takes four."""

import logging

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None

from ui.settings.server import server

A_SESSION, OTHERS = 4, 200  # as counted: a session's, and those of the server itself
ENOUGH = 65_536  # containers allow a thousand million, which some programs then go through
LOG = logging.getLogger(__name__)


def allow() -> None:
    """Raise the limit to the most that the operator allows, and warn where that is too low."""
    if resource is None:
        return
    kind = resource.RLIMIT_NOFILE
    soft, hard = resource.getrlimit(kind)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if 0 <= soft < most:  # unlimited is below 0
        resource.setrlimit(kind, (most, hard))
    visitors = server().share(server().most_visitors)
    needed = A_SESSION * visitors + OTHERS
    if most < needed:
        LOG.warning(
            "%d visitors need %d open files, and the limit is %d: "
            "raise it (ulimit -n), or lower MLA_MOST_VISITORS",
            visitors, needed, most,
        )  # fmt: skip
