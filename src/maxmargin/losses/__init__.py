"""What is minimised. A loss sees predictions only; the data does two products and nothing else."""

from maxmargin.losses.base import Loss
from maxmargin.losses.hinge import Hinge
from maxmargin.losses.measures import MEASURES, measure_loss
from maxmargin.losses.ranks import Ranks

__all__ = ["MEASURES", "Hinge", "Loss", "Ranks", "measure_loss"]
