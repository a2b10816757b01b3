"""How: the methods. Each file states its problem and its letters at the head."""
