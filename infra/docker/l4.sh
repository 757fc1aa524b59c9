#!/usr/bin/env bash
# The L4 comes when a training waits for it, and goes when none does.
#
#   l4.sh wake   on the machine that is always there: sets the size of the L4's instance group to 1 while runs wait, and
#                to 0 where the L4 did not do so itself: no run waits or runs for long, or one waits beside it for long;
#                where no zone has a Spot one for long, it says so, and brings one on demand where that is allowed
#   l4.sh work   on the L4: runs the worker, and sets the size to 0 once no run has waited or run for a while
#
# Both only look at what is: a machine that Google took back, a look that failed, or a run that came in the very second in
# which the machine goes, is put right by the next look.
set -euo pipefail
: "${PREFECT_API_URL:?is not set: the address of the Prefect server, http://HOST:4200/api}"
: "${L4_GROUP:?is not set: projects/PROJECT/regions/REGION/instanceGroupManagers/NAME}"

# shellcheck source=infra/docker/tending.sh
source "$(dirname "$0")/tending.sh"
# shellcheck source=infra/docker/google.sh
source "$(dirname "$0")/google.sh"
POOL=${L4_POOL:-l4-spot}
PAUSE=${L4_SECONDS_BETWEEN_LOOKS:-30}
LOOKS_WITHOUT_RUNS=${L4_LOOKS_WITHOUT_RUNS:-20}
# The waker gives the L4 twice that: it goes by itself but where its start has failed.
LOOKS_TO_GO=${L4_LOOKS_TO_GO:-40}
# A start takes some ten minutes, most of them for the image. After 40 in vain the waker rests for six hours.
LOOKS_TO_START=${L4_LOOKS_TO_START:-80}
LOOKS_OF_REST=${L4_LOOKS_OF_REST:-720}
# Twenty minutes in which no zone had a Spot L4.
LOOKS_FOR_SPOT=${L4_LOOKS_FOR_SPOT:-40}
# Where an L4 on demand is allowed, at its full price.
ON_DEMAND=${L4_GROUP_ON_DEMAND:-}
# What this image was built of; an L4 of another commit would refuse the work once it has started.
COMMIT=${TUCANO_COMMIT:-}
# A server that is away, for an update or for good, says nothing of its runs; the machine costs money all the same.
LOOKS_WITHOUT_ANSWER=${L4_LOOKS_WITHOUT_ANSWER:-120}
COMPUTE=${L4_COMPUTE_URL:-https://compute.googleapis.com/compute/v1}

say() { echo "$(date --utc +%FT%TZ) l4: $*" >&2; }

WAITING='"SCHEDULED", "PENDING"'
UNDER_WAY='"RUNNING", "CANCELLING"'

post() { # a document from stdin to Prefect's server
    local credentials="" document
    if [[ -n ${PREFECT_API_AUTH_STRING:-} ]]; then credentials="user = \"$PREFECT_API_AUTH_STRING\""; fi
    document=$(</dev/stdin)
    # By stdin: the list of processes would show a password that is an argument.
    curl --fail --silent --show-error --max-time 5 --config - \
        --header 'Content-Type: application/json' --data "$document" "$PREFECT_API_URL$1" <<<"$credentials"
}

runs() { # how many runs of the pool are in one of the states and to start by now, or within ten minutes
    post /flow_runs/count <<JSON
{"work_pools": {"name": {"any_": ["$POOL"]}},
 "flow_runs": {"state": {"type": {"any_": [$1]}},
               "expected_start_time": {"before_": "$(date --utc --date '10 minutes' +%FT%TZ)"}}}
JSON
}

tell() { # people, by the event that an automation of gates.yaml notifies of; a server that is away is told next time
    say "$*"
    python3 -c 'import json, sys
moment, name, pool, reason = sys.argv[1:]
resource = {"prefect.resource.id": f"tucano.machine.{pool}", "prefect.resource.name": pool}
print(json.dumps([dict(id=name, occurred=moment, event="tucano.machine", resource=resource, payload={"reason": reason})]))
' "$(date --utc +%FT%TZ)" "$(</proc/sys/kernel/random/uuid)" "$POOL" "$*" | post /events
}

google() { # asks, or changes with another method than GET
    local bearer
    bearer=$(token) || return 1
    curl --fail --silent --show-error --max-time 30 --request "$1" --config - \
        "$2" <<<"header = \"Authorization: Bearer $bearer\"
header = \"Content-Length: 0\""
}

resize() { # resize SIZE [GROUP]: sets the size of a group
    google POST "$COMPUTE/${2:-$L4_GROUP}/resize?size=$1" >/dev/null ||
        { say "the group could not be resized to $1; trying again"; return 1; }
}

machines() { # how many of a group are there: while Google has no L4 to give, none is, however long a run waits
    google GET "$COMPUTE/$1" | field currentActions none
}

commit_of() { # the commit of a group's image, which is its tag
    local template
    template=$(google GET "$COMPUTE/$1" | field instanceTemplate) || return 1
    template=${template#*/compute/v1/}
    # A template is named with its number too.
    google GET "$COMPUTE/${template%%\?*}" | python3 -c 'import json, sys
items = json.load(sys.stdin)["properties"]["metadata"]["items"]
print(next(item["value"] for item in items if item["key"] == "tucano-image").rpartition(":")[2])'
}

send_away() { # whatever is there, of either group
    resize 0 && if [[ -n $ON_DEMAND ]]; then resize 0 "$ON_DEMAND"; fi
}

wake() {
    local waiting under_way there image idle=0 vain=0 rest=0 dark=0 wanted=$L4_GROUP
    say "watching the pool $POOL for $L4_GROUP"
    # The machine on demand may be there already: this service is started again with each new image.
    if [[ -n $ON_DEMAND ]] && there=$(machines "$ON_DEMAND") && [[ $there -gt 0 ]]; then wanted=$ON_DEMAND; fi
    while true; do
        if ! waiting=$(runs "$WAITING") || ! under_way=$(runs "$UNDER_WAY"); then
            say "the Prefect server at $PREFECT_API_URL gave no answer; asking again"
        elif [[ $waiting -eq 0 && $under_way -eq 0 ]]; then
            idle=$((idle + 1)) vain=0 rest=0 dark=0
            # Whether a machine is there or not: this one may have been started again since it brought one.
            if [[ $idle -ge $LOOKS_TO_GO ]] && send_away; then idle=0 wanted=$L4_GROUP; fi
        elif [[ $under_way -gt 0 ]]; then
            idle=0 vain=0 rest=0 dark=0
            if [[ $waiting -gt 0 ]]; then resize 1 "$wanted" || true; fi
        elif [[ $rest -gt 0 ]]; then
            idle=0 rest=$((rest - 1))
        elif [[ $vain -ge $LOOKS_TO_START ]]; then
            say "$waiting runs wait, and the L4 takes none: see its log; it comes again after $LOOKS_OF_REST looks, or" \
                "at once where this service is started again"
            if send_away; then vain=0 rest=$LOOKS_OF_REST wanted=$L4_GROUP; fi
        elif [[ -n $COMMIT ]] && image=$(commit_of "$wanted") && [[ $image != "$COMMIT" ]]; then
            # Once in as many looks: people build an image meanwhile.
            if [[ $((dark++ % LOOKS_FOR_SPOT)) -eq 0 ]]; then
                tell "$waiting runs wait, and no L4 is started: its image is of the commit $image, and this machine's of" \
                    "$COMMIT; build that image and apply it with -var=image_tag=$COMMIT" || true
            fi
        else
            idle=0
            resize 1 "$wanted" || true
            if there=$(machines "$wanted") && [[ $there -gt 0 ]]; then
                vain=$((vain + 1)) dark=0
            elif [[ -n $there && $((++dark % LOOKS_FOR_SPOT)) -eq 0 ]]; then
                if [[ -n $ON_DEMAND && $wanted != "$ON_DEMAND" ]]; then
                    tell "no zone has had a Spot L4 for $dark looks; one on demand comes, at its full price" || true
                    # The Spot one first: two machines would be paid for.
                    if resize 0; then wanted=$ON_DEMAND; fi
                else
                    tell "$waiting runs wait, and no zone has had an L4 for $dark looks; it is asked for further" || true
                fi
            fi
        fi
        pause "$PAUSE"
    done
}

work() {
    local empty=0 silent=0 waiting
    # Google's notice reaches a container as SIGTERM: the runs save their work, and the group brings another machine.
    trap 'end_worker; exit 0' TERM INT
    start_worker "$POOL"
    while [[ $empty -lt $LOOKS_WITHOUT_RUNS && $silent -lt $LOOKS_WITHOUT_ANSWER ]]; do
        pause "$PAUSE"
        if ! worker_lives; then
            say "the worker ended by itself; starting it again"
            start_worker "$POOL"
        fi
        if ! waiting=$(runs "$WAITING, $UNDER_WAY"); then
            silent=$((silent + 1))
        elif [[ $waiting -gt 0 ]]; then
            empty=0 silent=0
        else
            empty=$((empty + 1)) silent=0
        fi
    done
    say "the machine goes: no run for the last $empty looks, no answer for the last $silent"
    # The worker first, so that it takes no run any more.
    end_worker
    until resize 0; do pause "$PAUSE"; done
}

case ${1:-} in
    wake) trap 'exit 0' TERM INT; wake ;;
    work) work ;;
    *) echo "l4.sh: '${1:-}' is neither wake nor work; give one of them" >&2; exit 2 ;;
esac
