"""Veridical: build, audit and run visual-reasoning benchmarks.

Every verb of the command line is a function here with the same name and arguments: `veridical.check(DIR)`. A verb loads
its room when it is called.
"""

__version__ = "0.1.0"

from veridical import api
from veridical.api import *  # noqa: F403 - what `api.__all__` names
from veridical.errors import UserError
from veridical.records import Item, Judgement, Panel, Prediction, Ref, SceneObject, Text

__all__ = ["Item", "Judgement", "Panel", "Prediction", "Ref", "SceneObject", "Text", "UserError"]
__all__ += api.__all__
