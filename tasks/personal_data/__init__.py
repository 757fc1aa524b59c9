"""Personal data: found in texts and identifiers, and replaced by placeholders."""
