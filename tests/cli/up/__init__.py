"""`penstock up`."""
