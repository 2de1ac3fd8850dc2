"""Every number as it is written: separators, digits, units."""

from ui.words.text import t

PREFIXES = ("", "k", "M", "G", "T", "P", "E")
CLOCKS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
TIED = "\N{NO-BREAK SPACE}"  # keeps a unit beside its number
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEAST_SHARE = 1e-5  # that is written out


def count(value: float) -> str:
    """A whole number with thousands separators."""
    return f"{value:,.0f}"


def heads(n: int) -> str:
    """So many heads."""
    return t("common.one_head" if n == 1 else "common.some_heads", n=count(n))


def digits(value: float, significant: int = 3) -> str:
    """A number with a fixed count of significant digits, so that nothing jumps: 7.11, 4.00."""
    if value and not 1e-4 <= abs(value) < 10**7:
        return f"{value:.{significant - 1}e}"
    text = f"{value:#,.{significant}g}"
    return count(value) if "e" in text else text.rstrip(".")


def signed(value: float, significant: int = 3) -> str:
    """A number as `digits` writes it, with a true minus sign: −7.11."""
    return digits(value, significant).replace("-", "−")


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, however small it is: 0.11472139."""
    return f"{value:.{decimals}f}"


def amount(value: float) -> str:
    """A whole number in full, any other with three digits: "32,768", "7.11"."""
    return count(value) if value == int(value) and abs(value) < 10**10 else digits(value)


def times(ratio: float) -> str:
    """A ratio, "56.9×"."""
    return t("common.times", value=digits(ratio))


def mixed(value: float) -> str:
    """A number whose quarters are written as such, "2¼"; any other with three digits."""
    whole, quarters = divmod(round(4 * value), 4)
    if 4 * value != 4 * whole + quarters:
        return digits(value)
    return f"{whole or ''}{('', '¼', '½', '¾')[quarters]}" or "0"


def size(n_bytes: float, binary: bool = True) -> str:
    """Bytes in GiB, MiB ... (1,024) or GB, MB ... (1,000), the unit always named."""
    unit_bytes, unit = unit_of(n_bytes, binary)
    return f"{digits(n_bytes / unit_bytes)} {unit}"


def unit_of(n_bytes: float, binary: bool = True) -> tuple[int, str]:
    """The largest unit that is not larger than so many bytes: its own bytes, and its name."""
    step, units = (
        (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
        if binary
        else (1000, ("B", "kB", "MB", "GB", "TB", "PB"))
    )
    place = 0
    while n_bytes >= step ** (place + 1) and place < len(units) - 1:
        place += 1
    return step**place, units[place]


def tied_size(n_bytes: float, binary: bool = True) -> str:
    """Bytes as `size` writes them, never broken from their unit."""
    return size(n_bytes, binary).replace(" ", TIED)


def times_in_percent(ratio: float) -> str:
    """A ratio and what it is more or less in percent, "0.889× (−11%)"."""
    percent = f"{ratio - 1:+,.0%}".replace("-", "−")
    return f"{times(ratio)} ({percent})"


def in_millions(number: float) -> str:
    """A large number in millions, "13.8 M"."""
    return f"{digits(number / 1e6)} M"


def prefixed(number: float) -> str:
    """A number with a prefix of 1,000s, "1.23 T"."""
    place = 0
    while number >= 1000 and place < len(PREFIXES) - 1:
        number, place = number / 1000, place + 1
    return f"{digits(number)}{TIED}{PREFIXES[place]}"


def flop(number: float) -> str:
    """FLOP with a prefix, "1.23 TFLOP"."""
    return f"{prefixed(number)}FLOP"


def giga(number: float, unit: str) -> str:
    """A rate in 1,000,000,000s of its unit, "1,234 GB/s"."""
    return f"{digits(number / 1e9)}{TIED}G{unit}"


def shortest(number: float, significant: int = 6) -> str:
    """A number without zeros at its end: "0.5", "2"."""
    return f"{number:.{significant}g}"


def intensity(flops_per_byte: float) -> str:
    """FLOPs per byte that is moved, "56.9 FLOP/B"."""
    return f"{digits(flops_per_byte)} FLOP/B"


def clock(seconds: float) -> str:
    """A time with its unit, "12.3 µs"."""
    step, unit = next(((s, u) for s, u in CLOCKS if seconds >= s), CLOCKS[-1])
    return f"{digits(seconds / step)}{TIED}{unit}"


def number(value: float, significant: int = 4) -> str:
    """A number with as many digits whatever it is: −2.500, 1234, 1.880×10⁻¹⁷."""
    mantissa, _, power = f"{value:#.{significant}g}".partition("e")
    text = mantissa.rstrip(".").replace("-", "−")
    return f"{text}×10{str(int(power)).translate(RAISED)}" if power else text


def share(part: float) -> str:
    """A share of 1 in per cent, three digits of it: 12.3 %, less than 0.001 %."""
    if 0 < part < LEAST_SHARE:
        least = t("common.percent", value=f"{100 * LEAST_SHARE:g}")
        return t("common.less_than", share=least)
    return t("common.percent", value=number(100 * part, 3) if part else "0")


def prefixed_count(number: float) -> str:
    """A count, in full below a thousand and else with a prefix: "512", "4.19 M"."""
    return prefixed(number) if number >= 1000 else count(number)


def tenths(number: float) -> str:
    """A number with one decimal, "1,234.5"."""
    return f"{number:,.1f}"


def points(difference: float) -> str:
    """A difference in points of a percentage, with its sign: "+7.1", "−0.5", "0.0"."""
    text = f"{100 * difference:+,.1f}".replace("-", "−")
    return text if text.strip("+−0.") else "0.0"


def entries(number: float) -> str:
    """The entries of a matrix as the papers give them, "100.7 M"; few of them in full."""
    return f"{tenths(number / 1e6)} M" if number >= 1e5 else count(number)


def millions(number: float) -> str:
    """Millions with three digits, "37.7 M"; what is less than one in full."""
    return in_millions(number) if number >= 1e6 else count(number)


def error_percent(error: float) -> str:
    """A relative error as a percentage with one decimal, so that a column of them lines up."""
    return f"{tenths(100 * error)}{TIED}%"


def off_by(error: float) -> str:
    """A relative error as a percentage, or as a power of ten where it is only rounding."""
    return f"{digits(100 * error)} %" if error > 1e-3 else scientific(error, 0)


def scientific(number: float, decimals: int = 1) -> str:
    """A number with its power of ten, "3.3e-03"."""
    return f"{number:.{decimals}e}"


def printed(figure: str) -> str:
    """A figure out of a source, with the minus sign that numbers have here: "−0.2"."""
    return figure.replace("-", "\N{MINUS SIGN}")
