"""Sentences about two photographs, true of some pairs and false of the others (NLVR2, section 3.2)."""
