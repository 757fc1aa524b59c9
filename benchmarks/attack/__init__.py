"""Benchmark of the exploit search: planted loopholes that it finds, and clean rewards of which it reports nothing."""
