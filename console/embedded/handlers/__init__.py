"""One module for each API, named as kio names it; `handle` answers one request."""
