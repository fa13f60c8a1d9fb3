"""Covey k-anonymizes a table that no one may pool."""
