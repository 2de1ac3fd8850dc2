"""Which rule of algebra a step rests on, and what else might be thought of."""

from types import MappingProxyType

# The key of a step -> the rule that acts there, and two that do not.
RULES = MappingProxyType(
    {
        "k_R": ("own_position", "commutativity", "row_sum"),
        "q_R": ("same_length", "linearity", "row_sum"),
        "scores_C": ("associativity", "commutativity", "relative"),
        "scores_R": ("relative", "associativity", "row_sum"),
        "scores": ("blocks", "commutativity", "relative"),
        "attention": ("row_sum", "associativity", "linearity"),
        "o": ("linearity", "commutativity", "same_length"),
        "u": ("blocks", "relative", "same_length"),
    }
)


def offered(key: str) -> tuple[str, ...]:
    """The rules to choose among at a step, in the order of the alphabet; none where none acts."""
    return tuple(sorted(RULES.get(key, ())))


def acting(key: str) -> str:
    """The rule that acts at a step."""
    return RULES[key][0]
