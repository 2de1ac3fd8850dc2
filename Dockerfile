# A Hugging Face Space: port 8501, user 1000. Build arg TORCH: cpu, or a CUDA build such as cu130.
FROM python:3.12-slim AS packages
ARG TORCH=cpu
RUN python -m venv /venv
COPY requirements.txt /
RUN /venv/bin/pip install --no-cache-dir "$(grep '^torch==' requirements.txt)" \
        --index-url "https://download.pytorch.org/whl/${TORCH}" \
    && /venv/bin/pip install --no-cache-dir -r requirements.txt

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 user
USER user
ENV HOME=/home/user PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /home/user/app
COPY --from=packages /venv /venv
COPY --chown=user . .
EXPOSE 8501
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["streamlit", "run", "app.py", "--server.port=8501", "--server.address=0.0.0.0"]
