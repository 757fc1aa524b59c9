"""Promotion gate on planted models: the best constant, nothing learned, and content learned."""
