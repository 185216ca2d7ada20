"""Groups of the classic protocol: members, generations, committed offsets."""
