"""Methods of the papers, one a file, each found by its `METHOD`."""
