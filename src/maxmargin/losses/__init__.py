"""What is minimised. A loss sees predictions only; the data does two products and nothing else."""

from maxmargin.losses.base import Loss
from maxmargin.losses.hinge import Hinge

__all__ = ["Hinge", "Loss"]
