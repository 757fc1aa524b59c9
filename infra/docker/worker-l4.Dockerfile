# The worker of the pool `l4-spot`, and what a job of Vertex AI runs. Two environments: vLLM and Prefect's server need
# different versions of fastapi, and the trainer is a child process that needs no Prefect. CUDA's libraries come with the
# wheels; the machine brings the driver, 580 or newer for CUDA 13. Built from the root of the repository.
FROM python:3.11-slim-bookworm

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1 \
    DO_NOT_TRACK=1 \
    HF_HOME=/state/huggingface \
    MPLCONFIGDIR=/tmp/matplotlib \
    PREFECT_LOCAL_STORAGE_PATH=/state/prefect/storage \
    LD_LIBRARY_PATH=/usr/local/nvidia/lib64 \
    # It would be compiled by nvcc as an engine starts, and there is none here.
    VLLM_USE_FLASHINFER_SAMPLER=0 \
    PATH=/opt/worker/bin:/usr/local/nvidia/bin:$PATH

# Triton compiles its kernels' launchers on the spot.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends curl g++ gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home tucano \
    && install --directory --owner tucano /state

WORKDIR /app
# The trainer's gigabytes are the layer that changes least.
COPY constraints/trainer-linux-cuda.txt constraints/trainer-linux-cuda.txt
RUN python -m venv /opt/trainer \
    && /opt/trainer/bin/pip install --no-deps --requirement constraints/trainer-linux-cuda.txt

COPY pyproject.toml prefect.yaml README.md ./
COPY constraints/laptop.txt constraints/laptop.txt
RUN python -m venv /opt/worker \
    && pip install --constraint constraints/laptop.txt --extra-index-url https://download.pytorch.org/whl/cpu .

COPY . .
RUN pip install --no-deps --editable .

# What it was built of: git rev-parse HEAD.
ARG COMMIT=""
ENV TUCANO_COMMIT=$COMMIT
USER 1000
ENTRYPOINT ["infra/docker/with-secrets.sh"]
CMD ["infra/docker/l4.sh", "work"]
