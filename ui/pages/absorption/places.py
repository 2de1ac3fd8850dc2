"""The published statements that the page's sections are about."""

from collections.abc import Mapping

from ui.settings.page import Link

CLAIMS: Mapping[str, Link] = {name: Link("claims", {"claims_text": name}) for name in ("P4", "C2")}
