terraform {
  required_version = ">= 1.9"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.0, < 8.0"
    }
  }

  # One state for the team: terraform init -backend-config=bucket=NAME
  backend "gcs" {
    prefix = "tucano/terraform"
  }
}

provider "google" {
  project = var.project
  region  = var.region
  zone    = var.zone
}
