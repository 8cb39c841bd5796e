"""The embedded cluster, compared with a real API server wherever one is at hand."""
