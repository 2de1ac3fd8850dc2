"""Trains the small models that the app shows, and measures what a smaller cache costs them."""
