"""The options of kernel machines."""

from __future__ import annotations

from maxmargin.cli.options import OUTPUT, Option, number_or_word

KERNELS = ("rbf", "laplacian", "poly", "linear")
BASES = ("free", "training", "nystroem", "cholesky")

KERNEL = Option("--kernel", "Kernel function:", default="rbf", choices=KERNELS)
GAMMA = Option(
    "--gamma", "Of the kernel: a number, scale or auto.", metavar="G", said="scale",
    read=number_or_word,
)  # fmt: skip
DEGREE = Option("--degree", "Of the poly kernel.", int, metavar="N", said="3")
COEF0 = Option("--coef0", "Constant of the poly kernel.", float, metavar="A", said="0")
OFFSET = Option(
    "--offset", "B^2 is added to the kernel: an offset, regularised.", float, metavar="B", said="0"
)
ON_BASIS = (
    Option("-k --n-basis", "How many basis vectors.", int, None, "N", least=1, said="100"),
    Option("--basis", "Where they come from:", default="free", choices=BASES),
)
KERNEL_OPTIONS = (KERNEL, GAMMA, DEGREE, COEF0)
GAMMAS = Option("--gammas", "Values to try, how many, or auto.", metavar="LIST", default="auto")
PICTURE = Option("--picture", "Draw the errors over the grid.", metavar="FILE", group=OUTPUT)
MULTI_CLASS = Option(
    "--multi-class", "Several classes:", default="ovr",
    choices=("ovr", "ovo"),
)  # fmt: skip
CELLS = Option("--cells", "A machine for every cell of N rows.", int, None, "N", least=1)
