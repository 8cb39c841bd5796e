"""Our resources: read, refused, described, and compared with the CRDs of Flux."""
