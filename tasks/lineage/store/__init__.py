"""Artifact store: immutable folders by the digest of their content, and the version of the source."""
