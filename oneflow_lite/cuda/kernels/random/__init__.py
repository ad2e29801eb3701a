"""Random numbers by counting."""
