"""The guided tour on paper: one HTML file with its pictures in it, made of the running app.

A sheet a stop: number, what the page states, the sentence to say, the picture of the running app,
the link as text and as a QR code. A browser prints the file, or saves it as PDF.
"""
