"""The one trainer: it knows no model, stops early with patience, keeps the best weights and resumes exactly."""

from veridical.training.config import TrainingConfig, configure
from veridical.training.run import TrainResult, fit_trial, train
from veridical.training.trained import Trained, load_trained

__all__ = ["TrainResult", "Trained", "TrainingConfig", "configure", "fit_trial", "load_trained", "train"]
