# The worker of the pool `cpu`, all but training, and the gateway. Built from the root of the repository. All that outlives
# a container is in the volume /state: models, artifacts, and what stages returned, which is where commands look for it too.
FROM python:3.11-slim-bookworm

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1 \
    DO_NOT_TRACK=1 \
    HF_HOME=/state/huggingface \
    MPLCONFIGDIR=/tmp/matplotlib \
    PREFECT_LOCAL_STORAGE_PATH=/state/prefect/storage \
    PATH=/opt/worker/bin:$PATH

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home tucano \
    # The gateway mounts over both in a volume that it cannot write.
    && install --directory --owner tucano /state /state/logs /state/work

WORKDIR /app
# The libraries first: they change less often than the code. The profile's `train.interpreter` is /opt/trainer/bin/python
# on every machine; here that is the worker's own.
COPY pyproject.toml prefect.yaml README.md ./
COPY constraints/laptop.txt constraints/laptop.txt
RUN python -m venv /opt/worker \
    && ln --symbolic /opt/worker /opt/trainer \
    && pip install --constraint constraints/laptop.txt --extra-index-url https://download.pytorch.org/whl/cpu .

COPY . .
RUN pip install --no-deps --editable .

# What it was built of, git rev-parse HEAD: the waker brings no L4 whose image is of another commit.
ARG COMMIT=""
ENV TUCANO_COMMIT=$COMMIT
USER 1000
ENV L4_POOL=l4-spot
ENTRYPOINT ["infra/docker/with-secrets.sh"]
CMD ["infra/docker/worker.sh", "cpu"]
