terraform {
  required_version = ">= 1.9"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.13, < 9.0"
    }
    # Of the L4's template alone: this one knows the notice that a Spot machine may ask for since 7.23.0.
    google-beta = {
      source  = "hashicorp/google-beta"
      version = ">= 7.23, < 9.0"
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

provider "google-beta" {
  project = var.project
  region  = var.region
  zone    = var.zone
}
