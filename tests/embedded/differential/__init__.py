"""The same random requests to the real API server and to the embedded one, and the answers side by side."""
