"""GGUF, the one-file format of llama.cpp, read as if it were a folder of safetensors.

`header` has what the file says of itself, `blocks` turns its rounded numbers back, `llama` gives
names and config.json, `vocabulary` tokenizer.json, and `files` joins them.
"""
