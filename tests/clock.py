"""A clock that a test moves."""


class Clock:
    """Seconds, as `time.monotonic` has them."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now
