"""The class: a lecturer leads a room, and who has its code follows and answers questions.

A room is what it shows now, and counts: nobody has a name in it, and nothing of it stays.
"""
