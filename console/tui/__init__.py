"""The console on a screen: a Textual app over a session."""
