"""A real model turned into MLA: the texts, what the conversion loses, and its measurement."""
