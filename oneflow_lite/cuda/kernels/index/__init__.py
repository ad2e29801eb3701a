"""Gathering, scattering and masks."""
