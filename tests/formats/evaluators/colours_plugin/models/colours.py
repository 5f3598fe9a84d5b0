"""The model, as lmms-eval calls it."""

from __future__ import annotations

from typing import Any

from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model
from looking import answer


@register_model("colours")
class Colours(lmms):  # type: ignore[misc]
    """Looks at the first picture."""

    def __init__(self, **_: Any) -> None:
        super().__init__()

    def generate_until(self, requests: list[Any]) -> list[str]:
        out = []
        for request in requests:
            text, _, doc_to_visual, doc_id, task, split = request.args
            out.append(answer(text, doc_to_visual(self.task_dict[task][split][doc_id])[0]))
        return out

    def loglikelihood(self, requests: list[Any]) -> list[Any]:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list[Any]) -> list[str]:
        raise NotImplementedError
