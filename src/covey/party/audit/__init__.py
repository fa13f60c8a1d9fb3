"""Checks of finished runs: each folder's evidence, the protocol's script of messages, and the replay of a role."""
