"""Methods of the papers, one a file."""
