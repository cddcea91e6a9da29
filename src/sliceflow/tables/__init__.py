"""Tables of any columns: their values as codes, and a chain of maps that draws them."""
