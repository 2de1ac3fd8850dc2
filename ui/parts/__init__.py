"""What several pages use: charts, maps, pictures that move, clicks and keys, prose."""
