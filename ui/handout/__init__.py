"""The story on paper: one HTML file with its pictures in it, made of the running app.

A sheet a chapter: what its last page states, the sentences to say, the picture of the running app,
the link as text and as a QR code. A browser prints the file, or saves it as PDF.
"""
