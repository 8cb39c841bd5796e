"""The embedded cluster, and what stands in for parts of one."""
