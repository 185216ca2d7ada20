"""The diagnosis of causes: facts -> symptoms -> the fewest causes with evidence that explain them. Pure."""
