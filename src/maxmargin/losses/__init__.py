"""What is minimised. A loss sees predictions only; the data does two products and nothing else."""

from maxmargin.losses.base import Loss
from maxmargin.losses.measures import MEASURES, measure_loss
from maxmargin.losses.pointwise import Hinge, LossSpec, Pointwise
from maxmargin.losses.ranks import Ranks

__all__ = ["MEASURES", "Hinge", "Loss", "LossSpec", "Pointwise", "Ranks", "measure_loss"]
