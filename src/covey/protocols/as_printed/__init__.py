"""The papers' own systems, each under its own name: its messages, its order, its outputs, its options.

A study runs one only with `as_printed = true`. The repairs stand in each declaration, and there is no other; an option
of ours is marked so, and is never the default.
"""
