"""Vision-language models as solvers, through Inspect AI: its providers, any OpenAI-compatible server, local weights.

In reading order:

    prompts     which questions a split makes (items, views, wordings, orders), in words and pictures
    reading     an answer out of what a model wrote, as one score per candidate
    answers     every answer, on disk before anything else happens to it; and what a run says about itself
    endpoint    the server behind a model: is it there, and what is said while requests are tried again
    shares      questions put through Inspect, here or by workers
    run         the solver: asks what is not in the journal
    tasks       the same questions as Inspect tasks; `hf_vision` is a provider for local weights

How a model is asked and how questions travel are `Asking`, `Sending` and `Generating` of `veridical.options`.
"""
