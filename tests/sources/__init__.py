"""Sources: from a place to an artifact."""
