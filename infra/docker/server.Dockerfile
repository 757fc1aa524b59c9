# Prefect's server and MLflow's in one image: compose.yaml starts either. Built from the root of the repository.
FROM python:3.11-slim-bookworm

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1

WORKDIR /app
# MLflow's extra `auth` brings the forms that its basic authentication needs.
COPY constraints/laptop.txt constraints/laptop.txt
RUN pip install --constraint constraints/laptop.txt 'mlflow[auth]' prefect psycopg2-binary google-cloud-storage \
    && useradd --uid 1000 --create-home tucano \
    && install --directory --owner tucano /mlflow /home/tucano/.prefect

COPY infra/docker/mlflow-server.sh infra/docker/mlflow-server.sh
USER 1000
