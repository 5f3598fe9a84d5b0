"""The assignment problem of Adversarial Matching and its certified solution.

problem     what is matched, W, the rules; responses grouped into lots
rounds      `match(problem)`: round after round, each proves its distance to the optimum
auction     queries bid for lots on a sparse graph
pricing     the auction's prices tried on all pairs, and shortlists that make that cheap
kernels     the inner loops as machine code
"""
