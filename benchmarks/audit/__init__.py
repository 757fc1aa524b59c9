"""Error rates, coverage and time of the audit."""
