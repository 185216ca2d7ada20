"""What all front ends do with a session: what is read before a plan is judged, and the one way of applying it."""
