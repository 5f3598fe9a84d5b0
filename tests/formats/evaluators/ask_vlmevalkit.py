"""Let VLMEvalKit read a table, ask a model that looks, and score its answers: ask_vlmevalkit.py TABLE OUT.xlsx

Importing its packages whole needs torchvision and every client of every service. Its own classes for multiple choice
need neither: the packages are entered by their folders, so that only what is used is imported.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from looking import answer
from PIL import Image

TABLE, OUT = sys.argv[1:]
spec = importlib.util.find_spec("vlmeval")
assert spec is not None
assert spec.submodule_search_locations
for name in ("vlmeval", "vlmeval.dataset", "vlmeval.api"):
    package = ModuleType(name)
    package.__path__ = [str(Path(spec.submodule_search_locations[0], *name.split(".")[1:]))]
    package.OpenAIWrapper = None  # type: ignore[attr-defined]  # a judge by a service, which nobody asks here
    sys.modules[name] = package

from vlmeval.dataset.image_mcq import CustomMCQDataset  # noqa: E402

data = CustomMCQDataset(dataset=TABLE)
replies = []
for number in range(len(data)):
    *pictures, text = data.build_prompt(number)
    replies.append(answer(text["value"], Image.open(pictures[0]["value"])))
table = data.data.drop(columns=["image"])
table["prediction"] = replies
table.to_excel(OUT, index=False)
scores = data.evaluate(OUT, model="exact_matching", nproc=1)
print(f"items {len(data)} overall {float(scores['Overall'].iloc[0])}")
