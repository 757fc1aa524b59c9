"""General arm: instructions in Portuguese that no task trains, checked by rules."""
