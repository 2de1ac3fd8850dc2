"""Texts in the reader's language, and how numbers are written."""
