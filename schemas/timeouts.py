"""Time-outs by which work ends before its machine does: child < parent < container < machine < notice, in seconds.

Google's metadata server announces the end of a Spot machine. A signal follows, after the notice that the machine's
template asks for, else at once; half a minute after the signal the machine is off.
"""

from typing import Final

COMMAND_SECONDS: Final = 24.0  # From a signal to the end of a command, unless a child still saves its work.
CHILD_SECONDS: Final = 25.0  # Most that a training takes from a signal to its exit.
PARENT_SECONDS: Final = 26.0  # After which a parent kills a child that it has asked to end.
AFTER_CHILD_SECONDS: Final = 1.0  # For a parent to record what its child saved last.
CONTAINER_SECONDS: Final = 28.0  # After which Docker kills: `--stop-timeout` of infra/terraform/scripts/l4-startup.sh.
MACHINE_SECONDS: Final = 30.0  # After which a Spot machine is off.
NOTICE_SECONDS: Final = 120.0  # The longest notice before the signal; infra/terraform/l4.tf asks for it.
NOTICE_RESERVE_SECONDS: Final = 20.0  # Left of the notice by a training, for its run to be scheduled again.
