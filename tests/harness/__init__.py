"""Helpers for whoever tests a protocol: parties in one process, a network that misbehaves, a clock that jumps."""
