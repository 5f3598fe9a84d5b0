"""Vision-language models as solvers, through Inspect AI: its providers, any OpenAI-compatible server, local weights.

`solve_vlm` runs a model over a split; `veridical.solvers.vlm.tasks` has the same as Inspect tasks.
"""

from veridical.solvers.vlm.config import Asking, Variant, variants
from veridical.solvers.vlm.run import Sending, Solved, solve_vlm

__all__ = ["Asking", "Sending", "Solved", "Variant", "solve_vlm", "variants"]
