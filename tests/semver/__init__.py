"""Versions and ranges of versions."""
