"""The day of one L4: checks, and one job that trains every seed on a rented machine or on this one."""
