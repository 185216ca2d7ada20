"""A cluster in this process: real sockets, the real protocol, a state of its own. It knows nothing of the client."""
