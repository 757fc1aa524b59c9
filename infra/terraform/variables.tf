variable "project" {
  description = "Google Cloud project, with billing and a quota of one preemptible L4."
  type        = string
}

variable "region" {
  description = "Where everything is. Google has no L4 in São Paulo; customers' data leave Brazil with any other region."
  type        = string
  default     = "us-central1"
}

variable "zone" {
  description = "Where both machines are: a zone of the region with L4s."
  type        = string
  default     = "us-central1-a"
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
  description = "Tag of the workers' images in the registry."
  type        = string
  default     = "latest"
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
