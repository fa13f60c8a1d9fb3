"""Identity: a party's keys and certificate, and the roster of everyone who takes part."""
