"""Who a party is: its keys, its certificate, and the roster of everyone who takes part."""
