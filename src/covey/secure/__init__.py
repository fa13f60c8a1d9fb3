"""The building blocks that protocols share, each a small protocol with its leakage, its cost and its ideal."""
