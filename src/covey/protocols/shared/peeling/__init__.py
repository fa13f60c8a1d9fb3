"""Lattice peeling, whoever holds the table: the list of generalizations, the peeling itself, and its classes.

Everything here is pure: it computes from what is public, or, in a trusted party's hands, from all records.
"""
