"""`veridical build vprom`: matrices of photographs, and seven ways to test generalisation (Teney et al. 2020).

Elements are mined from annotated photographs; photographs are dealt to training and test for each scheme; matrices are
drawn within each side and kept where one candidate alone completes them under the simplest explanation.
"""

from veridical.builders.vprom.builder import build_vprom
from veridical.builders.vprom.schemes import SCHEMES

__all__ = ["SCHEMES", "build_vprom"]
