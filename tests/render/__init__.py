"""From an artifact to its final objects."""
