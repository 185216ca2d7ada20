"""What goes wrong on purpose: declared as data, carried out where requests pass."""
