"""Every number as it is written: separators, digits, units."""

PREFIXES = ("", "k", "M", "G", "T", "P", "E")
CLOCKS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
TIED = "\N{NO-BREAK SPACE}"  # keeps a unit beside its number


def count(value: float) -> str:
    """A whole number with thousands separators."""
    return f"{value:,.0f}"


def digits(value: float, significant: int = 3) -> str:
    """A number with a fixed count of significant digits, so that nothing jumps: 7.11, 4.00."""
    if value and not 1e-4 <= abs(value) < 10**7:
        return f"{value:.{significant - 1}e}"
    text = f"{value:#,.{significant}g}"
    return count(value) if "e" in text else text.rstrip(".")


def amount(value: float) -> str:
    """A whole number in full, any other with three digits: "32,768", "7.11"."""
    return count(value) if value == int(value) and abs(value) < 10**10 else digits(value)


def times(ratio: float) -> str:
    """A ratio, "56.9x"."""
    return f"{digits(ratio)}×"


def size(n_bytes: float, binary: bool = True) -> str:
    """Bytes in GiB, MiB ... (1,024) or GB, MB ... (1,000), the unit always named."""
    step, units = (
        (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
        if binary
        else (1000, ("B", "kB", "MB", "GB", "TB", "PB"))
    )
    place = 0
    while n_bytes >= step and place < len(units) - 1:
        n_bytes, place = n_bytes / step, place + 1
    return f"{digits(n_bytes)} {units[place]}"


def prefixed(number: float) -> str:
    """A number with a prefix of 1,000s, "1.23 T"."""
    place = 0
    while number >= 1000 and place < len(PREFIXES) - 1:
        number, place = number / 1000, place + 1
    return f"{digits(number)}{TIED}{PREFIXES[place]}"


def flop(number: float) -> str:
    """FLOP with a prefix, "1.23 TFLOP"."""
    return f"{prefixed(number)}FLOP"


def clock(seconds: float) -> str:
    """A time with its unit, "12.3 µs"."""
    step, unit = next(((s, u) for s, u in CLOCKS if seconds >= s), CLOCKS[-1])
    return f"{digits(seconds / step)}{TIED}{unit}"


def printed(figure: str) -> str:
    """A figure out of a source, with the minus sign that numbers have here: "−0.2"."""
    return figure.replace("-", "\N{MINUS SIGN}")
