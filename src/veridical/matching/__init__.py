"""Adversarial Matching: right answers are handed out again as wrong choices (VCR, section 4)."""
