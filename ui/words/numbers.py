"""Write every number that is shown: its separators, digits and unit."""

from collections.abc import Sequence

from ui.words.text import t, translated

PREFIXES = ("", "k", "M", "G", "T", "P", "E")
# Of counts, by language: the step from one to the next, and what they are called.
LARGE = {"en": (1000, PREFIXES), "zh": (10_000, ("", "万", "亿", "万亿", "亿亿"))}
CLOCKS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
TIED = "\N{NO-BREAK SPACE}"  # keeps a unit beside its number
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEAST_SHARE = 1e-5  # that is written out

# Plain numbers


def count(value: float) -> str:
    """Write a whole number with thousands separators: "32,768"."""
    return f"{value:,.0f}"


def digits(value: float, significant: int = 3) -> str:
    """Write a fixed count of significant digits, so that a column lines up: "7.11", "4.00"."""
    if value and not 1e-4 <= abs(value) < 10**7:
        return f"{value:.{significant - 1}e}"
    text = f"{value:#,.{significant}g}"
    return count(value) if "e" in text else text.rstrip(".")


def signed(value: float, significant: int = 3) -> str:
    """Write a number as `digits` does, with a true minus sign: "−7.11"."""
    return digits(value, significant).replace("-", "−")


def number(value: float, significant: int = 4) -> str:
    """Write the same count of digits for any size: "−2.500", "1234", "1.880×10⁻¹⁷"."""
    mantissa, _, power = f"{value:#.{significant}g}".partition("e")
    text = mantissa.rstrip(".").replace("-", "−")
    return f"{text}×10{str(int(power)).translate(RAISED)}" if power else text


def fixed(value: float, decimals: int) -> str:
    """Write so many decimals, however small the number is: "0.11472139"."""
    return f"{value:.{decimals}f}"


def tenths(value: float) -> str:
    """Write one decimal: "1,234.5"."""
    return f"{value:,.1f}"


def shortest(value: float, significant: int = 6) -> str:
    """Write a number without zeros at its end: "0.5", "2"."""
    return f"{value:.{significant}g}"


def scientific(value: float, decimals: int = 1) -> str:
    """Write a number with its power of ten: "3.3e-03"."""
    return f"{value:.{decimals}e}"


def amount(value: float) -> str:
    """Write a whole number in full, any other with three digits: "32,768", "7.11"."""
    return count(value) if value == int(value) and abs(value) < 10**10 else digits(value)


def mixed(value: float) -> str:
    """Write quarters as fractions, "2¼", any other number with three digits."""
    whole, quarters = divmod(round(4 * value), 4)
    if 4 * value != 4 * whole + quarters:
        return digits(value)
    return f"{whole or ''}{('', '¼', '½', '¾')[quarters]}" or "0"


def printed(figure: str) -> str:
    """Return a figure as its source prints it, with a true minus sign: "−0.2"."""
    return figure.replace("-", "\N{MINUS SIGN}")


# Numbers with a unit or a prefix


def heads(n: int) -> str:
    """Write a number of heads in the reader's language."""
    return t("common.one_head" if n == 1 else "common.some_heads", n=count(n))


def head_name(layer: int, head: int) -> str:
    """Name a head of a whole model by its layer and its number, "L17 H5"."""
    return t("common.head_name", layer=layer, head=head)


def unit_of(n_bytes: float, binary: bool = True) -> tuple[int, str]:
    """Return the largest unit of bytes that is not larger than so many: its bytes, its name."""
    step, units = (
        (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
        if binary
        else (1000, ("B", "kB", "MB", "GB", "TB", "PB"))
    )
    place = 0
    while n_bytes >= step ** (place + 1) and place < len(units) - 1:
        place += 1
    return step**place, units[place]


def size(n_bytes: float, binary: bool = True) -> str:
    """Write bytes in GiB, MiB ... (1,024) or GB, MB ... (1,000), the unit always named."""
    unit_bytes, unit = unit_of(n_bytes, binary)
    return f"{digits(n_bytes / unit_bytes)} {unit}"


def tied_size(n_bytes: float, binary: bool = True) -> str:
    """Write bytes as `size` does, with a space that does not break before the unit."""
    return size(n_bytes, binary).replace(" ", TIED)


def prefixed(value: float, significant: int = 3) -> str:
    """Write a count with the language's words for large ones: "1.23 T", "1.23 万亿"."""
    return _prefixed(value, *translated(LARGE), significant).rstrip(TIED)


def prefixed_count(value: float) -> str:
    """Write a count in full where it is short, else with a prefix: "512", "4.19 M", "419 万"."""
    step, _ = translated(LARGE)
    return prefixed(value) if value >= step else count(value)


def _prefixed(value: float, step: int, names: Sequence[str], significant: int = 3) -> str:
    place = 0
    while value >= step and place < len(names) - 1:
        value, place = value / step, place + 1
    return f"{digits(value, significant)}{TIED}{names[place]}"


def flop(value: float) -> str:
    """Write FLOP with a prefix: "1.23 TFLOP"."""
    return f"{_prefixed(value, 1000, PREFIXES)}FLOP"


def giga(value: float, unit: str) -> str:
    """Write a rate in thousands of millions of its unit: "1,234 GB/s"."""
    return f"{digits(value / 1e9)}{TIED}G{unit}"


def intensity(flops_per_byte: float) -> str:
    """Write FLOPs per byte that is moved: "56.9 FLOP/B"."""
    return f"{digits(flops_per_byte)} FLOP/B"


def clock(seconds: float) -> str:
    """Write a time with its unit: "12.3 µs"."""
    step, unit = next(((s, u) for s, u in CLOCKS if seconds >= s), CLOCKS[-1])
    return f"{digits(seconds / step)}{TIED}{unit}"


def in_millions(value: float) -> str:
    """Write millions with three digits: "13.8 M", and in Chinese "1,376 万"."""
    step, _ = translated(LARGE)
    return f"{digits(value / 1e6)} M" if step == 1000 else prefixed(value)


def millions(value: float) -> str:
    """Write millions with three digits, "37.7 M", and less than one in full."""
    return in_millions(value) if value >= 1e6 else count(value)


def entries(value: float) -> str:
    """Write the entries of a matrix as papers do, "100.7 M", and few of them in full."""
    if value < 1e5:
        return count(value)
    step, _ = translated(LARGE)
    return f"{tenths(value / 1e6)} M" if step == 1000 else prefixed(value, 4)


# Ratios, shares and errors


def times(ratio: float) -> str:
    """Write a ratio: "56.9×"."""
    return t("common.times", value=digits(ratio))


def times_in_percent(ratio: float) -> str:
    """Write a ratio and its difference from 1 in per cent: "0.889× (−11%)"."""
    percent = f"{ratio - 1:+,.0%}".replace("-", "−")
    return f"{times(ratio)} ({percent})"


def share(part: float) -> str:
    """Write a share of 1 in per cent with three digits: "12.3 %", "less than 0.001 %"."""
    if 0 < part < LEAST_SHARE:
        least = t("common.percent", value=f"{100 * LEAST_SHARE:g}")
        return t("common.less_than", share=least)
    return t("common.percent", value=number(100 * part, 3) if part else "0")


def percent(amount: str) -> str:
    """Put the sign behind an amount, which does not break before it: "12.3 %"."""
    return t("common.percent", value=amount).replace(" ", TIED)


def in_percent(part: float, decimals: int = 0) -> str:
    """Write a share of 1 in per cent with so many decimals: "12 %"."""
    return percent(fixed(100 * part, decimals))


def points(difference: float) -> str:
    """Write a difference in percentage points with its sign: "+7.1", "−0.5", "0.0"."""
    text = f"{100 * difference:+,.1f}".replace("-", "−")
    return text if text.strip("+−0.") else "0.0"


def error_percent(error: float) -> str:
    """Write a relative error in per cent with one decimal, so that a column lines up."""
    return percent(tenths(100 * error))


def off_by(error: float) -> str:
    """Write a relative error in per cent, or as a power of ten where it is only rounding."""
    return t("common.percent", value=digits(100 * error)) if error > 1e-3 else scientific(error, 0)
