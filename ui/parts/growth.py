"""The lengths of context over which caches are drawn."""

CONTEXTS = tuple(2**n for n in range(6, 21))  # tokens that are drawn
LENGTHS = CONTEXTS[4:]  # and those that can be chosen
