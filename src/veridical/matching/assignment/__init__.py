"""The assignment problem of Adversarial Matching and its certified solution.

problem     what is matched, W, the rules; responses grouped into lots
auction     `match(problem)`: round after round, queries bid for responses; each proves its distance to the optimum
pricing     the auction's prices tried on all pairs, and shortlists that make that cheap
kernels     the inner loops as machine code
"""
