"""Texts in the language of the reader, and every number as it is written."""
