"""The files of a model: a folder, a GGUF file, a repository on the Hub."""
