"""SQL: question, query and its run on copies of the store."""
