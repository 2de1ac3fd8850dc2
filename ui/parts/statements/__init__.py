"""The statements of the sources: each with its verdict, and in words."""
