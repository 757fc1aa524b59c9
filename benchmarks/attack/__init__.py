"""Benchmark of the exploit search: planted loopholes that it must find, and clean rewards of which it reports nothing."""
