"""False alarms, delay and time of the monitor."""
