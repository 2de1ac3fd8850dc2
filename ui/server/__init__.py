"""The app as a server: what is checked before it starts, and what stands around every visit."""
