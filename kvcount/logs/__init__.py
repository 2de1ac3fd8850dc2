"""Explains the numbers that engines log: vLLM's, SGLang's, llama.cpp's."""
