"""One module for each API, named as in kio. Its function `handle` answers one request; its docstring names the
versions."""
