# The app for a Hugging Face Space (sdk: docker) or any other host: uid 1000, port 8501.
FROM python:3.12.14-slim-trixie@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS base

FROM base AS packages
# The index that torch comes from: its CPU build. A GPU needs the CUDA build, which is that of
# https://pypi.org/simple, or of another index of download.pytorch.org.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /opt
RUN python -m venv --without-pip /opt/venv
COPY requirements.txt requirements.lock ./
RUN pip --python /opt/venv/bin/python install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock
RUN pip --python /opt/venv/bin/python install --no-cache-dir --index-url $TORCH_INDEX $(grep '^torch==' requirements.txt)

FROM packages AS model
# A small real model, which the image has from the start; 0 leaves it out.
ARG REAL_MODEL=1
COPY kvcount kvcount
COPY mla_engine mla_engine
COPY assets/real_mla assets/real_mla
RUN mkdir models && if [ "$REAL_MODEL" = 1 ]; then \
    /opt/venv/bin/python -m mla_engine.checkpoints.real_model models/smollm2-135m-instruct \
 && /opt/venv/bin/python -m mla_engine.checkpoints.real_mla; fi

FROM base
RUN pip uninstall --quiet --yes pip && useradd --create-home --uid 1000 user
ENV HOME=/home/user PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 MLA_HOST=0.0.0.0 MLA_WARM=1
WORKDIR /home/user/app
COPY --from=packages /opt/venv /opt/venv
COPY --from=model --chown=1000:1000 /opt/models /home/user/models
COPY . .
# What is written lies in these two folders and in /tmp, so that all else can be read-only.
RUN python -m compileall -q . \
 && mkdir -p /home/user/.cache /home/user/models && chown 1000:1000 /home/user/.cache /home/user/models \
 && ln -s /home/user/models models
USER 1000

EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=10s --start-period=300s CMD ["python", "deploy/healthy.py"]
CMD ["python", "deploy/start.py"]
