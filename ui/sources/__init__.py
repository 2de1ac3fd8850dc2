"""Sources of what is shown: random weights, models trained here, and checkpoints.

A page asks the source of its model for a layer, for what enters it, and for the words of a text;
`layers` keeps what they return, `model` tells which source the settings choose.
"""

from ui.sources.checkpoint import Checkpoint
from ui.sources.drawn import Drawn
from ui.sources.trained import Trained

Source = Drawn | Trained | Checkpoint
