"""Keys of the page's elements."""

import re


def css(key: str) -> str:
    """An element's key as Streamlit writes it into its class."""
    return re.sub(r"[^a-zA-Z0-9_-]", "-", key)
