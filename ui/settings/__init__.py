"""The reader's settings: parsers, the shared settings, those of each page, and their URL."""
