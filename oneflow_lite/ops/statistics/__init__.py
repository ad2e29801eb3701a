"""Statistics: reductions and running sums."""
