"""Manipulation: shapes, order, joined and repeated tensors."""
