"""Controllers: one thin module a kind, which reads the spec, calls the stages and writes the status."""
