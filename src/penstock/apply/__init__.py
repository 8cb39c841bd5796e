"""Final objects into a cluster. So far: the inventory, which remembers what was applied."""
