"""Tests of the embedded API server, against recorded answers of a real one."""
