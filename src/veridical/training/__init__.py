"""Training: one trainer that knows no model, stops early with patience, keeps the best weights and resumes exactly.

In reading order:

    config      how a model is trained, and how options given by name reach its config
    batches     a benchmark's items as encoded examples, cut into batches, and a module's scores of them
    trainer     the loop: one module on one data set, with checkpoints and TensorBoard's events
    team        several processes that train one model, by torchrun
    trained     a model read back from its folder
    run         the verb: one or several trials in a run folder, with a picture of their learning curves
    pairs       a run as a model of pairs of texts, for Adversarial Matching

From outside: `train`, `configure`, `load_trained`, and `batches.examples_of`.
"""

from veridical.training.config import TrainingConfig, configure
from veridical.training.run import TrainResult, fit_trial, train
from veridical.training.trained import Trained, load_trained

__all__ = ["TrainResult", "Trained", "TrainingConfig", "configure", "fit_trial", "load_trained", "train"]
