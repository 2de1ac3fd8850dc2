"""The Streamlit side: page frame, settings in the URL, texts, cached runs of the engine."""
