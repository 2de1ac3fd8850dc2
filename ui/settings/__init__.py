"""What a reader can set: parsers, the shared settings, those of every room, and their URL."""
