"""Maps of attention and what they are made of, for every page that shows some."""
