"""State of a training between two steps: snapshot, files, lease, notice and shutdown."""
