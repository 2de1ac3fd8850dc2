"""The one seam to the engine: the queue, cached layers and runs, real models."""
