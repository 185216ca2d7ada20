"""Sockets, frames and connections of the embedded brokers."""
