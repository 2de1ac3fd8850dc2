"""The one error of the checkpoint reader."""


class CheckpointError(ValueError):
    """What cannot be read, in one sentence with the value found and what to do."""
