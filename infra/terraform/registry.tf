resource "google_artifact_registry_repository" "images" {
  location      = var.region
  repository_id = "tucano"
  format        = "DOCKER"

  # The L4's image is some 15 GB.
  cleanup_policies {
    id     = "keep-three"
    action = "KEEP"
    most_recent_versions {
      keep_count = 3
    }
  }

  cleanup_policies {
    id     = "delete-old"
    action = "DELETE"
    condition {
      older_than = "1209600s"
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_artifact_registry_repository_iam_member" "build_pushes" {
  location   = google_artifact_registry_repository.images.location
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}

# The files of a build, which Cloud Build reads and nobody needs a day later.
resource "google_storage_bucket" "builds" {
  name                        = "${var.bucket}-builds"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true

  soft_delete_policy {
    retention_duration_seconds = 0
  }

  lifecycle_rule {
    condition {
      age = 1
    }
    action {
      type = "Delete"
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_storage_bucket_iam_member" "build_reads" {
  bucket = google_storage_bucket.builds.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.build.member
}

# The small machine builds its images itself.
resource "google_artifact_registry_repository_iam_member" "l4_pulls" {
  location   = google_artifact_registry_repository.images.location
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.l4.member
}
