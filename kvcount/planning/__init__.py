"""Says what GPUs can serve at best: how long, how many at once, how fast."""
