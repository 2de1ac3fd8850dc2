"""Tests, in the shape of the packages."""
