"""The commands, run in this process: as the package's own tests have them."""

from kvcount.tests.conftest import cache, plan  # noqa: F401 - fixtures
