"""A real model turned into absorbable MLA, taught to follow the original, and measured."""
