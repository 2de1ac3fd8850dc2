"""One folder for each page of the app, found by `ui.frame.pages`."""
