"""Time, memory and result of the whole job."""
