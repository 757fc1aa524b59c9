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

# The small machine builds its images itself.
resource "google_artifact_registry_repository_iam_member" "l4_pulls" {
  location   = google_artifact_registry_repository.images.location
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.l4.member
}
