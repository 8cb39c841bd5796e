"""Every figure that the README claims, each beside its peer and on the same inputs in the same run."""
