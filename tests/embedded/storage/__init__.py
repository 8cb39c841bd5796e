"""Tests of the store of the embedded cluster."""
