"""The rules of the kinds: table tests, answers recorded from a real API server, and a comparison with a live one."""
