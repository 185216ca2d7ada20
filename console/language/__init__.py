"""Text to statements, statements to edits, and back: tokenizer, grammar, verbs, completion, quoting. Pure."""
