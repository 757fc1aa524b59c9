#!/usr/bin/env bash
# Half an hour on Google Cloud, which no test of the repository can stand for, at some one or two US dollars:
#
#   infra/terraform/acceptance.sh PROJECT BUCKET [REGION]
#
# In a project in which nothing of Tucano's is yet, from a clone without changes: Terraform's files are validated, planned
# and applied, the image is built, an L4 boots for a training of the laptop's stand-in, Google preempts it once, another one
# resumes, and all is destroyed, also where a step failed. KEEP=1 leaves it there. It prints each step with its seconds.
set -euo pipefail
project=${1:?is missing: acceptance.sh PROJECT BUCKET [REGION]} bucket=${2:?is missing: a name that is free in the world}
region=${3:-europe-west4}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp --directory)
export CLOUDSDK_CORE_PROJECT=$project TF_IN_AUTOMATION=1

step() { # step NAME COMMAND...: says what it does, and how long it took
    local began=$SECONDS
    under_way=$1
    shift
    echo "== $under_way"
    "$@"
    echo "ok: $under_way, $((SECONDS - began)) s"
}

until_true() { # until_true SECONDS COMMAND...
    local seconds=$1 began=$SECONDS
    shift
    until "$@"; do
        if [[ $((SECONDS - began)) -ge $seconds ]]; then echo "not within $seconds s: $*" >&2; return 1; fi
        sleep 10
    done
}

terraform_here() { terraform -chdir="$work" "$@"; }

output() { terraform_here output -raw "$1"; }

on_server() { gcloud compute ssh tucano-server --zone "$region-a" --tunnel-through-iap --quiet --command "$1"; }

in_worker() { on_server "cd tucano/infra && sudo docker compose --env-file compose.env exec -T worker $1"; }

commit=$(git -C "$root" rev-parse HEAD)

check() { # what is cheaper to know now
    local tool
    for tool in gcloud terraform git openssl; do
        if ! command -v "$tool" >/dev/null; then echo "no $tool here" >&2; return 1; fi
    done
    if ! git -C "$root" diff --quiet HEAD; then echo "the clone has changes; an image is of a commit" >&2; return 1; fi
    gcloud compute regions describe "$region" --flatten quotas --format 'value(quotas.metric, quotas.limit)' |
        grep -E 'NVIDIA_L4_GPUS'
    gcloud compute project-info describe --flatten quotas --format 'value(quotas.metric, quotas.limit)' |
        awk '$1 == "GPUS_ALL_REGIONS" { print; if ($2 < 1) exit 1 }'
}

copy() { # a copy with a state of its own, whose bucket and machine may be destroyed
    cp -r "$here"/. "$work"
    rm -rf "$work/.terraform"
    sed -i 's/prevent_destroy = true/prevent_destroy = false/; s/\(deletion_protection *\)= true/\1= false/' "$work"/*.tf
    sed -i 's/^  public_access_prevention .*/&\n  force_destroy = true/' "$work/storage.tf"
    printf 'terraform {\n  backend "local" {}\n}\n' >"$work/backend_override.tf"
    {
        printf 'project = "%s"\nbucket = "%s"\nregion = "%s"\nzone = "%s-a"\n' "$project" "$bucket" "$region" "$region"
        printf 'l4_zones = ["%s-a", "%s-b", "%s-c"]\nimage_tag = "%s"\n' "$region" "$region" "$region" "$commit"
        printf 'operators = ["user:%s"]\n' "$(gcloud config get-value account 2>/dev/null)"
    } >"$work/acceptance.auto.tfvars"
}

validate() { terraform_here init -input=false && terraform_here validate; }

# The first apply of a project may come before an interface that it switched on is there.
apply() { terraform_here apply -input=false -auto-approve || terraform_here apply -input=false -auto-approve; }

secrets() { # as compose.env has them
    auth="admin:$(openssl rand -hex 24)" mlflow=$(openssl rand -hex 24)
    printf %s "$auth" | gcloud secrets versions add tucano-prefect-auth --data-file=-
    printf %s "$mlflow" | gcloud secrets versions add tucano-mlflow-password --data-file=-
}

build() {
    gcloud builds submit "$root" --config "$root/infra/cloudbuild.yaml" --gcs-source-staging-dir "$(output build_source)" \
        --substitutions "_COMMIT=$commit,_REGISTRY=$(output registry)"
}

serve() { # the servers, the worker and the waker
    local address
    address=$(output server_address)
    until_true 300 on_server 'docker compose version'
    git -C "$root" archive "$commit" | gzip |
        on_server 'mkdir -p tucano && tar -xzf - -C tucano && mkdir -p tucano/infra/data/logs'
    {
        for name in {POSTGRES,PREFECT_DATABASE,MLFLOW_DATABASE,MLFLOW_ADMIN}_PASSWORD MLFLOW_SECRET_KEY; do
            echo "$name=$(openssl rand -hex 24)"
        done
        printf 'PREFECT_AUTH=%s\nMLFLOW_WORKER_PASSWORD=%s\nLISTEN=%s\n' "$auth" "$mlflow" "$address"
        printf 'L4_GROUP=%s\nMLFLOW_ARTIFACTS=gs://%s/mlflow\nCOMMIT=%s\n' "$(output l4_group)" "$bucket" "$commit"
    } | on_server 'umask 077; cat >tucano/infra/compose.env'
    on_server 'cd tucano/infra && sudo docker compose --env-file compose.env --profile l4 up --detach --build --wait'
    # The stand-in asks nobody for scores; many short steps, so that one is under way.
    in_worker "tucano infra apply --profile local --set state.root=/state --set state.mlflow=http://$address:5000 \
        --set state.mirror=gs://$bucket/mirror --set state.artifacts=gs://$bucket/artifacts \
        --set workers.training=training/train --set workers.inference=inference/inference \
        --set train.interpreter=/opt/trainer/bin/python --set train.max_steps=400 --set train.save_every=5 \
        --set train.patience=400 --set train.evaluate_every=100 --set train.preemption.notice_seconds=120 \
        --set train.preemption.notice_url=http://metadata.google.internal/computeMetadata/v1/instance/preempted"
    in_worker "prefect deployment run retrain/retrain --param until=train"
}

machine() { # the address of the L4, once there is one
    gcloud compute instance-groups managed list-instances tucano-l4 --region "$region" --filter status=RUNNING \
        --format 'value(instance)' | grep .
}

saved() { gcloud storage ls "gs://$bucket/mirror/**/manifests/*.json" 2>/dev/null | grep -q .; }

boot() { until_true 1800 machine && until_true 1500 saved; }

preempted() { in_worker "tucano checkpoints list gs://$bucket/mirror --json" | grep -q ', preempted'; }

finished() { gcloud storage ls "gs://$bucket/mirror/**/pins/final/**" 2>/dev/null | grep -q .; }

preempt() { # as Google does it, with the notice that the template asks for
    local there
    there=$(machine)
    gcloud compute instances simulate-maintenance-event "$there"
    until_true 300 preempted
    # The group brings another machine, and the run rests until the first is gone.
    until_true 1500 finished
}

destroy() {
    local code=$?
    trap - EXIT
    if [[ $code -ne 0 ]]; then echo "FAILED: $under_way" >&2; fi
    if [[ ${KEEP:-} == 1 ]]; then
        echo "left there: terraform -chdir=$work destroy"
    elif [[ -f $work/terraform.tfstate ]]; then
        gcloud compute instance-groups managed resize tucano-l4 --region "$region" --size 0 --quiet || true
        terraform_here destroy -input=false -auto-approve ||
            { echo "NOT destroyed; it costs money until you do: terraform -chdir=$work destroy" >&2; code=1; }
    fi
    [[ $code -ne 0 ]] || echo "accepted: $commit in $region, after $((SECONDS / 60)) minutes"
    exit "$code"
}

trap destroy EXIT
step "quotas and tools" check
step "a copy of the configuration" copy
step "terraform validate" validate
step "terraform plan" terraform_here plan -input=false
step "terraform apply" apply
step "secrets" secrets
step "the image of $commit" build
step "servers and a training that waits" serve
step "an L4 boots and saves a checkpoint" boot
step "a preemption with notice, and the training resumes to its end" preempt
