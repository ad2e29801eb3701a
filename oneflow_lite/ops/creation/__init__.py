"""Creation: from data, from values, from rules."""
