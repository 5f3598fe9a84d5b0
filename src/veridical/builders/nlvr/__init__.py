"""`veridical build nlvr`: three drawn boxes and a sentence, true or false (Suhr et al. 2017, sections 4 and 5)."""
