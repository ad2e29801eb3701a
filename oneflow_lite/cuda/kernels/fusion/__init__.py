"""Groups of operations as one kernel."""
