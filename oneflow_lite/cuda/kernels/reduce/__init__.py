"""Reductions and running sums."""
