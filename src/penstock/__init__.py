"""Penstock: a GitOps engine in Python that speaks Flux's API.

Every folder is one concept; ARCHITECTURE.md shows the way the data takes through them.
"""

__version__ = "0.1.0.dev0"
