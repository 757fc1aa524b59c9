# The gateway on Cloud Run, where the shop's programs are there too: one version a revision, before the engine of engine.tf
# or with the CPU's own. It has no disk that lasts, so that its log goes to the bucket each minute (infra/docker/gateway.sh);
# on the small machine it loses no line.
locals {
  run_range = "10.79.0.0/26"
}

resource "google_secret_manager_secret" "gateway" {
  for_each = toset(local.on_run ? ["tucano-gateway-tokens", "tucano-gateway-mlflow-password"] : [])

  secret_id = each.value

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_secret_manager_secret_iam_member" "gateway_reads" {
  for_each = google_secret_manager_secret.gateway

  secret_id = each.value.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.gateway.member
}

# Cloud Run takes its addresses from here; a firewall rule knows it by them alone.
resource "google_compute_subnetwork" "run" {
  count = local.on_run ? 1 : 0

  name                     = "tucano-run"
  network                  = google_compute_network.team.id
  region                   = var.region
  ip_cidr_range            = local.run_range
  private_ip_google_access = true
}

resource "google_compute_firewall" "run_to_mlflow" {
  count = local.on_run ? 1 : 0

  name                    = "tucano-run-to-mlflow"
  network                 = google_compute_network.team.id
  source_ranges           = [local.run_range]
  target_service_accounts = [google_service_account.server.email]

  allow {
    protocol = "tcp"
    ports    = ["5000"]
  }
}

resource "google_cloud_run_v2_service" "gateway" {
  count = local.on_run ? 1 : 0

  name     = "tucano-gateway"
  location = var.region
  ingress  = "INGRESS_TRAFFIC_INTERNAL_ONLY"

  template {
    service_account       = google_service_account.gateway.email
    execution_environment = "EXECUTION_ENVIRONMENT_GEN2"
    # A little more than `serve.deadline_seconds`.
    timeout = "75s"
    # `serve.concurrency` and `serve.queue` together: a further request is refused by the gateway, with Retry-After.
    max_instance_request_concurrency = 160

    # Its start takes minutes, so that one is always there.
    scaling {
      min_instance_count = 1
      max_instance_count = 1
    }

    vpc_access {
      egress = "PRIVATE_RANGES_ONLY"
      network_interfaces {
        network    = google_compute_network.team.id
        subnetwork = google_compute_subnetwork.run[0].id
      }
    }

    containers {
      image = "${local.registry}/worker-cpu:${var.image_tag}"
      args = concat(
        ["infra/docker/gateway.sh", "--version", var.gateway_version, "--set", "serve.log_days=2"],
        var.engine ? ["--set", "serve.engine_url=http://${google_compute_address.engine[0].address}:8000/v1"] : [],
      )

      ports {
        container_port = 8080
      }

      resources {
        limits = {
          cpu    = "2"
          memory = "8Gi"
        }
        # The log is copied, and the engine watched, between requests too.
        cpu_idle = false
      }

      env {
        name  = "MLFLOW_SERVER"
        value = "http://${google_compute_address.server.address}:5000"
      }
      env {
        name  = "MLFLOW_TRACKING_USERNAME"
        value = "gateway"
      }
      env {
        name = "MLFLOW_TRACKING_PASSWORD"
        value_source {
          secret_key_ref {
            secret  = google_secret_manager_secret.gateway["tucano-gateway-mlflow-password"].secret_id
            version = "latest"
          }
        }
      }
      env {
        name = "GATEWAY_TOKENS"
        value_source {
          secret_key_ref {
            secret  = google_secret_manager_secret.gateway["tucano-gateway-tokens"].secret_id
            version = "latest"
          }
        }
      }
      env {
        name  = "GATEWAY_PROFILE"
        value = var.gateway_profile
      }
      env {
        name  = "GATEWAY_LOGS"
        value = "gs://${google_storage_bucket.serving[0].name}/logs"
      }
      env {
        name  = "HF_HUB_OFFLINE"
        value = "1"
      }

      volume_mounts {
        name       = "artifacts"
        mount_path = "/state/artifacts"
      }

      # Four minutes are the most that Cloud Run waits for.
      startup_probe {
        period_seconds    = 10
        timeout_seconds   = 5
        failure_threshold = 24
        http_get {
          path = "/readyz"
          port = 8080
        }
      }

      liveness_probe {
        period_seconds  = 30
        timeout_seconds = 10
        http_get {
          path = "/healthz"
          port = 8080
        }
      }
    }

    volumes {
      name = "artifacts"
      gcs {
        bucket        = google_storage_bucket.serving[0].name
        read_only     = true
        mount_options = ["only-dir=artifacts", "implicit-dirs"]
      }
    }
  }

  depends_on = [
    google_project_service.used,
    google_secret_manager_secret_iam_member.gateway_reads,
    google_storage_bucket_iam_member.gateway_logs,
  ]
}

resource "google_cloud_run_v2_service_iam_member" "callers" {
  for_each = local.on_run ? var.callers : toset([])

  name     = google_cloud_run_v2_service.gateway[0].name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.value
}
