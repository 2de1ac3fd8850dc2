"""The reader thinks first: a question about the page's picture before its answer shows."""
