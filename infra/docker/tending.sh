#!/usr/bin/env bash
# Tending a Prefect worker in the first process of a container; worker.sh and l4.sh read this file.
#
# Asked to end, a worker ends what it has started, and a run then saves its work. A container ends with its first
# process, so that one must stay until no run is left; `docker stop --time` bounds it.

start_worker() { # of a pool, in the background
    # Bash lets what it starts in the background ignore SIGINT, by which Prefect ends its worker.
    env --default-signal=INT prefect worker start --pool "$1" --type process --no-create-pool-if-not-found &
    worker=$!
}

worker_lives() { kill -0 "$worker" 2>/dev/null; }

pause() { # so many seconds, or until a signal
    sleep "$1" &
    pausing=$!
    wait "$pausing" || true
}

runs_left() { # processes whose parent is this one: those that lost their own, which a container's first inherits
    local status key value
    for status in /proc/[0-9]*/status; do
        while read -r key value; do
            if [[ $key == PPid: && $value == "$$" ]]; then return 0; fi
        done 2>/dev/null <"$status"
    done
    return 1
}

end_worker() { # and wait for it and for the runs that save their work
    if [[ -n ${pausing:-} ]]; then kill "$pausing" 2>/dev/null || true; wait "$pausing" 2>/dev/null || true; fi
    kill -TERM "$worker" 2>/dev/null || true
    wait "$worker" || true
    while runs_left; do sleep 0.2; done
}
