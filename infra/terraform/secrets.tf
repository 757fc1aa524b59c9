# The secrets' names only. Their values are put in by hand (infra/README.md), so that Terraform's state holds none.
resource "google_secret_manager_secret" "team" {
  for_each = toset(["tucano-prefect-auth", "tucano-mlflow-password"])

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

# Of a gated model on the hub, where one is trained.
resource "google_secret_manager_secret" "hub" {
  count = var.hub_token ? 1 : 0

  secret_id = "tucano-hf-token"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_secret_manager_secret_iam_member" "l4_reads_hub" {
  count = var.hub_token ? 1 : 0

  secret_id = google_secret_manager_secret.hub[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.l4.member
}

resource "google_secret_manager_secret_iam_member" "l4_reads" {
  for_each = google_secret_manager_secret.team

  secret_id = each.value.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.l4.member
}
