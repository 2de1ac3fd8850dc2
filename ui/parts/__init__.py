"""Parts that several pages use: charts, maps, moving pictures, clicks and keys, prose."""
