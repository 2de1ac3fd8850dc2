"""Whose the weights of a layer are."""

from ui.engine.real_layer import RealLayer
from ui.engine.trained_layer import TrainedLayer

Origin = int | TrainedLayer | RealLayer  # a seed's, a trained layer's, or a checkpoint's
