variable "project" {
  description = "Google Cloud project, with billing and the quotas that infra/README.md names."
  type        = string
}

variable "region" {
  description = "Where everything is. Google has no L4 in South America; LGPD, article 33, I, permits the European Union."
  type        = string
  default     = "europe-west4"
}

variable "zone" {
  description = "Where the small machine is, and the engine if there is one."
  type        = string
  default     = "europe-west4-a"
}

variable "l4_zones" {
  description = "Zones of the region with L4s: the group takes one in whichever has it."
  type        = list(string)
  default     = ["europe-west4-a", "europe-west4-b", "europe-west4-c"]
}

variable "on_demand" {
  description = "Bring an L4 on demand, at its full price, once no zone has had a Spot one for L4_LOOKS_FOR_SPOT looks."
  type        = bool
  default     = false
}

variable "bucket" {
  description = "Name of the bucket for checkpoints, artifacts and MLflow's files; unique in the world."
  type        = string
}

variable "server_machine_type" {
  description = "The machine that is always there. e2-small holds the servers alone; the CPU worker answers prompts too."
  type        = string
  default     = "e2-standard-2"
}

variable "image_tag" {
  description = "Tag of the workers' images in the registry: the commit that they were built of, git rev-parse HEAD."
  type        = string

  validation {
    condition     = can(regex("^[0-9a-f]{40}$", var.image_tag))
    error_message = "Give the whole commit, such as: -var=image_tag=$(git rev-parse HEAD)."
  }
}

variable "mlflow_pages" {
  description = "Where people's browsers find MLflow, for the links on Prefect's pages: MLFLOW_PAGES of compose.env."
  type        = string
  default     = "http://localhost:5000"
}

variable "vertex" {
  description = "Let the small machine run trainings as jobs of Vertex AI, instead of the instance group."
  type        = bool
  default     = false
}

variable "hub_token" {
  description = "Let the workers read a token of the Hugging Face hub from the secret tucano-hf-token: of a gated model."
  type        = bool
  default     = false
}

variable "operators" {
  description = "Who may reach the small machine through Google's tunnel and read logs, such as user:ana@example.com."
  type        = set(string)
  default     = []
}

variable "engine" {
  description = "Keep an L4 that answers by vLLM, for the gateway of the small machine or of Cloud Run."
  type        = bool
  default     = false
}

variable "gateway_version" {
  description = "Number of the version that a gateway on Cloud Run serves; no such gateway where not set."
  type        = string
  default     = null
}

variable "gateway_profile" {
  description = "The profile that this version was trained with."
  type        = string
  default     = "l4"
}

variable "callers" {
  description = "Who may call the gateway on Cloud Run, such as serviceAccount:shop@PROJECT.iam.gserviceaccount.com."
  type        = set(string)
  default     = []
}
