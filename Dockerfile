# A Hugging Face Space (sdk: docker) or any other host: uid 1000, port 8501.
FROM python:3.12.14-slim-trixie@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

# Empty: the package index's own build of torch. On a CPU or a GPU host give the index of its wheels.
ARG TORCH_INDEX=""

RUN useradd --create-home --uid 1000 user && install --directory --owner=user /home/user/app
USER user
ENV HOME=/home/user PATH=/home/user/.local/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /home/user/app

COPY --chown=user requirements.txt requirements.lock ./
RUN pip install --no-cache-dir --user --require-hashes --only-binary :all: -r requirements.lock \
 && pip install --no-cache-dir --user ${TORCH_INDEX:+--index-url $TORCH_INDEX} \
      $(grep '^torch==' requirements.txt)
COPY --chown=user . .

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD \
  python -c "import urllib.request as u; u.urlopen('http://localhost:8501/_stcore/health', timeout=8)"
CMD ["streamlit", "run", "app.py", "--server.port=8501", "--server.address=0.0.0.0"]
