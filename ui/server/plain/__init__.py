"""A page in words and tables, for a browser that runs no scripts or does not get them."""
