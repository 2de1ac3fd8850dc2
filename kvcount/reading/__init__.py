"""Reads a config.json: which layers a model has, and what each of them keeps."""
