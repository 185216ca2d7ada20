"""The commands of the command line: for each a module with its options and what it does with them."""
