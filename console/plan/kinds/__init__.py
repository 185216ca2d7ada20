"""One file for the edits of each noun: a record of everything that the product knows of a kind of edit."""
