"""The class's messages between browsers and the server, beside Streamlit: no page runs for them."""
