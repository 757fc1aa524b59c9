# Checkpoints (mirror/), artifacts that machines hand to one another (artifacts/), MLflow's files (mlflow/).
resource "google_storage_bucket" "state" {
  name                        = var.bucket
  location                    = var.region
  storage_class               = "STANDARD"
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  # A deletion by mistake can be undone.
  versioning {
    enabled = true
  }

  # Versions are kept already; Google's default would keep, and charge for, each deleted object once more.
  soft_delete_policy {
    retention_duration_seconds = 0
  }

  # No rule here deletes what is live: a checkpoint's files are named by their content, an old one may belong to the
  # newest checkpoint, and only `prune` knows. A version that was deleted or replaced goes after two weeks.
  lifecycle_rule {
    condition {
      days_since_noncurrent_time = 14
      with_state                 = "ARCHIVED"
    }
    action {
      type = "Delete"
    }
  }

  # An upload in parts that a preempted machine left unfinished.
  lifecycle_rule {
    condition {
      age = 7
    }
    action {
      type = "AbortIncompleteMultipartUpload"
    }
  }

  lifecycle {
    prevent_destroy = true
  }

  depends_on = [google_project_service.used]
}

# To read, create, list and delete objects, and nothing of the bucket itself.
resource "google_storage_bucket_iam_member" "objects" {
  for_each = {
    server = google_service_account.server.member
    l4     = google_service_account.l4.member
  }

  bucket = google_storage_bucket.state.name
  role   = "roles/storage.objectUser"
  member = each.value
}
