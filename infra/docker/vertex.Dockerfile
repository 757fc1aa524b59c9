# Who submits trainings to Vertex AI. It runs no code of ours, and prefect-gcp needs an older tenacity than ours is.
FROM python:3.11-slim-bookworm

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1 \
    DO_NOT_TRACK=1

RUN pip install 'prefect==3.8.8' 'prefect-gcp[aiplatform]==0.6.22' 'fastapi==0.150.0' \
    && useradd --uid 1000 --create-home tucano

USER 1000
CMD ["prefect", "worker", "start", "--pool", "l4-spot", "--type", "vertex-ai", "--no-create-pool-if-not-found"]
