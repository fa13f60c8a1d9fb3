"""Pure maths: no sockets, no files, no async, no logging."""
