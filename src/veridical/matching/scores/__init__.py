"""P_rel and P_sim of all pairs, as calibrated probabilities.

models          inner products of embeddings or words, and their calibration
fit             P_rel, learned on the data, and P_sim
crossencoder    models that read both texts, for each query's shortlist
"""
