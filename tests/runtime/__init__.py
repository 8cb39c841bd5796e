"""What every controller needs, seen through its public names."""
