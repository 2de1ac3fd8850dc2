"""A static copy of the app: its pages as a running server sent them, for any file server.

`record` asks a server of ours for every view that a copy has and `store` keeps the messages,
`pack` writes them as files, `index` what leads where. `html` and `frontend` put Streamlit's
unmodified front end around them, to which assets/replay.js gives them.
"""
