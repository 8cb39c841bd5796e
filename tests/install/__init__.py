"""The controllers inside of a cluster."""
