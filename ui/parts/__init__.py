"""What several pages use: charts, maps, play, clicks and keys, prose."""
