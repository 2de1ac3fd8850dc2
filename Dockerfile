# A Hugging Face Space (sdk: docker) or any other host: uid 1000, port 8501.
FROM python:3.12-slim

# Empty: the package index's own build of torch. On a CPU or a GPU host give the index of its wheels.
ARG TORCH_INDEX=""

RUN useradd --create-home --uid 1000 user
USER user
ENV HOME=/home/user PATH=/home/user/.local/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /home/user/app

COPY --chown=user requirements.txt .
RUN pip install --no-cache-dir --user ${TORCH_INDEX:+--index-url $TORCH_INDEX} \
      $(grep '^torch==' requirements.txt) \
 && pip install --no-cache-dir --user -r requirements.txt
COPY --chown=user . .

EXPOSE 8501
HEALTHCHECK --start-period=60s CMD \
  python -c "import urllib.request as u; u.urlopen('http://localhost:8501/_stcore/health')"
CMD ["streamlit", "run", "app.py", "--server.port=8501", "--server.address=0.0.0.0"]
