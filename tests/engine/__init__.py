"""Tests of mla_engine."""
