"""Scores of pairs: P_rel and P_sim of every question and response, from encoders, words or learned, calibrated."""
