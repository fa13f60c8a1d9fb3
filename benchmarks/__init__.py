"""Speed, rounds, bytes, memory and utility, peers beside us; never asserted in a test."""
