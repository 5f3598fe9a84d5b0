"""The canary of a benchmark: a string that stands in its card and metadata, to search training data for."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

_CANARIES = uuid.UUID("0f6f1a52-7b0c-5c6e-9d0a-5b8e4c1a2f37")  # the namespace of all our canaries


def canary(manifest: Mapping[str, Any]) -> str:
    """The same for every build of one config, and for no other."""
    content = [manifest["name"], manifest["config"], manifest["seed"]]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return f"veridical:canary:{uuid.uuid5(_CANARIES, text)}"
