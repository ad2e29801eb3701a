"""Sorting, searching and runs of equal elements."""
