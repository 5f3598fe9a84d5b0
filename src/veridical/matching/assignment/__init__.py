"""The assignment problem of Adversarial Matching and its certified solution: auction, pricing, rounds."""
