"""The console's journals as rows."""
