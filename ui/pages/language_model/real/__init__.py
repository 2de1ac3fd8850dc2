"""The page with the app's own real model: how its guess forms, and what its heads look at."""
