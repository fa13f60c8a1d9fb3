"""All parties of a study on this machine: as processes over TLS, or in one process over memory."""
