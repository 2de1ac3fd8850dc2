"""A page as bare as Streamlit has it: a slider and charts of random numbers, or a picture.

What stands on it is told by the variable BARE_PAGE, as `benchmarks/measuring.py` writes it.
"""

import json
import os

import numpy as np
import plotly.graph_objects as go
import streamlit as st

MADE = {"heatmap": go.Heatmap, "bar": go.Bar, "scatter": go.Scatter}
SCENE = """<svg class="picture" viewBox="0 0 400 200" width="400" height="200">
<rect width="300" height="100"/></svg>"""

page = json.loads(os.environ["BARE_PAGE"])
st.set_page_config(layout="wide")
st.title("A bare page")
if page["scene"]:
    st.sidebar.write("Beside it")
    st.components.v2.component("scene", html=SCENE)(key="scene")
    st.stop()
n = st.slider("n", 0, page["last"], page["first"])
numbers = np.random.default_rng(n)
st.write(f"{n}: {numbers.random():.3f}")
with st.container(horizontal=True):
    for place, chart in enumerate(page["charts"]):
        figure = go.Figure(layout={"height": chart["height"]})
        for kind, *shape in chart["traces"]:
            drawn = numbers.random(shape, np.float32)
            trace = {"z": drawn} if kind == "heatmap" else {"y": drawn}
            figure.add_trace(MADE[kind](**trace))
        st.plotly_chart(figure, key=f"chart{place}", width=chart["width"])
