"""Numbers of tokens as people write them."""

import re

UNITS = {"k": 2**10, "m": 2**20}
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")


def tokens(text: str) -> int | None:
    """Return a number of tokens: 131072, 131,072, 1e6, 128k (131,072) or 1M (1,048,576).

    None where the text is no whole number.
    """
    unit = UNITS.get(text[-1:].lower())
    digits = text.replace(",", "") if THOUSANDS.fullmatch(text) else text
    try:
        found = float(digits[:-1] if unit else digits) * (unit or 1)
    except ValueError:
        return None
    return int(found) if text.isascii() and found.is_integer() else None
