# What serving a version needs beside the rest, where it is asked for: a bucket of its own and two accounts. What answers
# clients reaches none of the checkpoints, nor MLflow's files.
locals {
  on_run = var.gateway_version != null
  serves = var.engine || local.on_run
}

# artifacts/ of the version, engine/ with its merged weights, logs/ of what was answered on Cloud Run.
resource "google_storage_bucket" "serving" {
  count = local.serves ? 1 : 0

  name                        = "${var.bucket}-serving"
  location                    = var.region
  storage_class               = "STANDARD"
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  # A log is written anew each minute; what else is here is a copy.
  versioning {
    enabled = false
  }

  soft_delete_policy {
    retention_duration_seconds = 0
  }

  # As `serve.log_days` keeps them elsewhere.
  lifecycle_rule {
    condition {
      age            = 90
      matches_prefix = ["logs/"]
    }
    action {
      type = "Delete"
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_service_account" "engine" {
  account_id   = "tucano-engine"
  display_name = "vLLM on the L4 that serves"

  depends_on = [google_project_service.used]
}

resource "google_service_account" "gateway" {
  account_id   = "tucano-gateway"
  display_name = "The gateway on Cloud Run"

  depends_on = [google_project_service.used]
}

# The small machine puts there what is to be served, and fetches the logs.
resource "google_storage_bucket_iam_member" "server_serves" {
  count = local.serves ? 1 : 0

  bucket = google_storage_bucket.serving[0].name
  role   = "roles/storage.objectUser"
  member = google_service_account.server.member
}

resource "google_storage_bucket_iam_member" "engine_reads" {
  count = var.engine ? 1 : 0

  bucket = google_storage_bucket.serving[0].name
  role   = "roles/storage.objectViewer"
  member = google_service_account.engine.member
}

resource "google_storage_bucket_iam_member" "gateway_logs" {
  count = local.on_run ? 1 : 0

  bucket = google_storage_bucket.serving[0].name
  role   = "roles/storage.objectUser"
  member = google_service_account.gateway.member
}
