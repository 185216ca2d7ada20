"""The man page, completion for shells and the language's page: made from the commands' own parsers and verbs."""
