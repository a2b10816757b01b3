"""
The loops that run once an example. Private: use the maxmargin package.
"""

from collections.abc import Sequence
import enum
from typing import Annotated, Final, overload

import numpy
from numpy.typing import NDArray


class InvalidInput(ValueError):
    pass

class Unordered(InvalidInput):
    pass

class Stopped(Exception):
    pass

class StopReason(enum.Enum):
    none = 0

    interrupted = 1

    time = 2

    callback = 3

class Flag:
    """A word from one thread to another."""

    def __init__(self) -> None: ...

    def set(self, value: bool) -> None: ...

class Stop:
    """A request to end early, by the user, the clock or a callback."""

    def __init__(self) -> None: ...

    def set_deadline(self, seconds_from_now: float) -> None: ...

    def interrupt(self, reason: StopReason = StopReason.interrupted) -> None: ...

    def poll(self) -> bool: ...

    @property
    def reason(self) -> StopReason: ...

class Pool:
    """The threads of one computation."""

    def __init__(self, threads: int, stop: Stop | None = None) -> None: ...

    @property
    def threads(self) -> int: ...

    def raise_if_stopped(self) -> None:
        """Raises Stopped if the stop flag is up."""

def inner(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> float:
    """sum_i x_i y_i"""

def axpby(alpha: float, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: float, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
    """out = alpha x + beta y"""

def crc32c(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], before: int = 0) -> int:
    """CRC-32C of bytes that follow those of checksum `before`."""

def crc32c_by_tables(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], before: int = 0) -> int:
    """The same without the instruction for it."""

def available_cpus() -> int:
    """CPUs this process may use (its affinity mask)."""

def most_threads() -> int:
    """The most threads a Pool makes, whatever is asked for."""

class Rows:
    """A view of rows that lie in arrays; nothing is copied."""

    @property
    def n(self) -> int: ...

    @property
    def d(self) -> int: ...

    @property
    def width(self) -> int: ...

    def subsample(self, arg: int, /) -> Rows: ...

    @property
    def bias(self) -> float: ...

    @property
    def nnz(self) -> int: ...

@overload
def dense_rows(X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], bias: float) -> Rows: ...

@overload
def dense_rows(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], bias: float) -> Rows: ...

@overload
def dense_rows(X: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu', writable=False)], bias: float) -> Rows: ...

@overload
def dense_rows(X: Annotated[NDArray[numpy.int8], dict(shape=(None, None), device='cpu', writable=False)], bias: float) -> Rows: ...

@overload
def sparse_rows(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int, bias: float, pool: Pool | None = None) -> Rows: ...

@overload
def sparse_rows(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int, bias: float, pool: Pool | None = None) -> Rows: ...

@overload
def sparse_rows(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int, bias: float, pool: Pool | None = None) -> Rows: ...

@overload
def sparse_rows(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int, bias: float, pool: Pool | None = None) -> Rows: ...

@overload
def check_csr(indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: int, d: int, pool: Pool | None = None) -> None: ...

@overload
def check_csr(indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: int, d: int, pool: Pool | None = None) -> None:
    """
    ValueError unless all rows lie inside their arrays; Unordered if only order is wrong.
    """

@overload
def all_finite(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> bool: ...

@overload
def all_finite(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> bool: ...

def read_svmlight_float32(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], index_base: int | None, n_features: int | None, pool: Pool, longest_line: int = 67108864) -> tuple:
    """(values, indices, starts, d, labels, qid or None, index_base)"""

def read_svmlight_float64(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], index_base: int | None, n_features: int | None, pool: Pool, longest_line: int = 67108864) -> tuple:
    """(values, indices, starts, d, labels, qid or None, index_base)"""

def read_svmlight_file_float32(file: int, begin: int, size: int, index_base: int | None, n_features: int | None, pool: Pool, longest_line: int) -> tuple:
    """The same of `size` bytes of an open file, which may change meanwhile."""

def read_svmlight_file_float64(file: int, begin: int, size: int, index_base: int | None, n_features: int | None, pool: Pool, longest_line: int) -> tuple:
    """The same of `size` bytes of an open file, which may change meanwhile."""

def write_svmlight(rows: Rows, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, index_base: int, begin: int, end: int, pool: Pool) -> bytes:
    """Rows begin to end as bytes of svmlight text."""

def scan_svmlight(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> tuple:
    """
    (rows, entries at most, line ends, least index or None, one past the largest index)
    """

def read_fasta(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], labelled: bool) -> tuple:
    """(letters, starts, labels, label starts)"""

def has_fasta_label(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
    """whether the first header holds a label"""

def read_parquet_footer(footer: bytes) -> tuple:
    """
    (is text, for each column; row groups of columns as (codec, values, packed, first page, dictionary))
    """

def read_parquet_page(head: bytes) -> object:
    """
    (kind, unpacked, packed, values, encoding, bytes of the head); None if it is incomplete
    """

def matvec(rows: Rows, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
    """p = X w"""

def rmatvec(rows: Rows, l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
    """a = X^T l"""

def rmatvec_onto(rows: Rows, l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
    """a += X^T l"""

def squared_norms(rows: Rows, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None: ...

def gram(rows: Rows, h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], every: int, for_direction: bool, H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None:
    """
    H = sum_i h_i x_i x_i^T; float32 products if they are enough for a Newton direction
    """

def gram_steps_per_row(arg: Rows, /) -> float: ...

def cholesky_solve(H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> bool:
    """
    b <- H^-1 b, H overwritten by its factor; False if H is not positive definite
    """

def solve_triangles(L: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """b <- (L L^T)^-1 b, L the lower triangle that `cholesky_solve` left"""

def inverse_forms(rows: Rows, chosen: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> bool:
    """
    out_m = <x, H^-1 x> for x the row chosen_m, H overwritten; False if H is not positive definite
    """

def hessian_product(rows: Rows, h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool, image: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None) -> None:
    """out = sum_i h_i <x_i, v> x_i, image = X v"""

class DualDescent:
    def __init__(self, rows: Rows, loss: Pointwise, u0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], seed: int) -> None: ...

    def epoch(self, pool: Pool) -> tuple[float, float, int, int]:
        """
        (gap of the rows as they were visited, rise of D, rows visited, their non-zeros)
        """

    def check_gap(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> tuple[float, float, float, float]:
        """(dual sum, its size, <w, sum b x>, loss); chooses the rows to visit"""

    def copy_dual(self, u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def active(self) -> int: ...

class ReducedQP:
    def __init__(self) -> None: ...

    def append(self, b: float, products: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def keep(self, planes: Sequence[int]) -> None: ...

    def widen(self, coordinates: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def solve(self, tolerance: float, pool: Pool | None = None) -> int: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def __len__(self) -> int: ...

class RowSets:
    def __init__(self, n: int) -> None: ...

    def append(self, l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """adds the set of rows with l_i != 0"""

    def keep(self, sets: Sequence[int]) -> None: ...

    def sums(self, v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """the sum of v_i over the rows of each set"""

    def shares(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """for each row the sum of beta_j over its sets"""

    def __len__(self) -> int: ...

class FeatureMap:
    """Features made from compact rows when they are used."""

    @property
    def d(self) -> int: ...

class Alphabet:
    def __init__(self, letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class WeightedDegree(FeatureMap):
    def __init__(self, alphabet: Alphabet, length: int, degree: int, bits: int) -> None: ...

    def score(self, letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
        """<w, phi(x)> of every string"""

    def add(self, letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
        """a += sum_r v_r phi(x_r)"""

    @staticmethod
    def dimensions(letters: int, length: int, degree: int) -> float: ...

class Unit(enum.Enum):
    word = 0

    byte = 1

class Ngrams(FeatureMap):
    def __init__(self, unit: Unit, n: int, bits: int) -> None: ...

class Mismatch(FeatureMap):
    def __init__(self, alphabet: Alphabet, k: int, mismatches: int, bits: int) -> None: ...

class Gappy(FeatureMap):
    def __init__(self, alphabet: Alphabet, k: int, span: int, bits: int) -> None: ...

class ShiftedDegree(FeatureMap):
    def __init__(self, alphabet: Alphabet, length: int, degree: int, shift: int, bits: int) -> None: ...

class Pairs(FeatureMap):
    def __init__(self, bits: int) -> None: ...

class Hashed(FeatureMap):
    def __init__(self, bits: int) -> None: ...

class Format:
    """What all packed rows of a run have in common."""

    @property
    def d(self) -> int: ...

    @property
    def width(self) -> int: ...

def row_format(rows: Rows, bias: float, map: FeatureMap | None, targets: bool = False) -> Format: ...

def string_format(bias: float, map: FeatureMap, targets: bool = False) -> Format: ...

class PackedBlock:
    """Rows with all that a coordinate step needs."""

    @property
    def n(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    def checksum(self, before: int, rows: int) -> int:
        """of the first rows, after the rows whose checksum is `before`"""

def pack_rows(rows: Rows, first: int, labels: object, costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], format: Format) -> PackedBlock: ...

def pack_strings(letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, labels: object, costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], format: Format) -> PackedBlock: ...

def score_block(block: PackedBlock, format: Format, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
    """<w, phi(x)> of every row"""

def expand_block(block: PackedBlock, format: Format, pool: Pool) -> tuple:
    """(values, indices, starts) of the features as CSR"""

class CachedLoops:
    """The trainer of the cached loops."""

    def __init__(self, format: Format, n: int, problems: int, budget: int, seed: int) -> None: ...

    def set_problem(self, k: int, positive: int, alpha: object, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], loss: str = 'hinge', x: float = 0.0) -> None: ...

    def leave_out(self, k: int, bits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], fold: int) -> None:
        """Problem k leaves out the rows whose byte has the bit of this fold"""

    def set_finished(self, arg: int, /) -> None: ...

    def evict_as_the_paper(self) -> None: ...

    def consume(self, block: PackedBlock, pool: Pool) -> tuple[tuple[float, int, int], tuple[float, int, int]]:
        """
        (gain, visits, entries) of the rows of the block, and of visits in the cache
        """

    def sweep(self, visits: int, pool: Pool) -> tuple[float, int, int]:
        """(gain, visits, entries)"""

    def sweep_while(self, slice: int, allowance: int, least: float, rate: float, ready: Flag | None, pool: Pool) -> tuple[float, int, int]:
        """(gain, visits, entries) of slices while they pay, or until it is ready"""

    def start_pass(self) -> None: ...

    def end_pass(self) -> None: ...

    def pass_tally(self, k: int) -> tuple[float, float, float, float]:
        """(losses and dual terms as visited, max PG, min PG) of the pass so far"""

    def check_gap(self, block: PackedBlock, start: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], to: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], losses: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None: ...

    def check_gap_in_cache(self, start: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], to: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], losses: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None: ...

    def start_check(self) -> None: ...

    def end_check(self) -> None: ...

    def dual_sums(self, k: int) -> tuple[float, float, float, int]:
        """
        (dual terms, their size, sum |b_i| ||x_i||, number of u_i != 0) of the last gap check
        """

    @property
    def complete(self) -> bool: ...

    @property
    def cached(self) -> int: ...

    @property
    def active(self) -> int: ...

    @property
    def longest_round(self) -> int: ...

    line: Final[list[float]] = ...
    """(arg: object, /) -> list[float]"""

def fit_sigmoid(f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[float, float, int]:
    """(slope, offset, evaluations) of the log-odds of scores f"""

def fit_isotonic(f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """(knots, log-odds) of scores f"""

class PairLoss:
    """Hinge over pairs of rows with different targets."""

    def __init__(self, target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], query: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: int, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, pool: Pool) -> None: ...

    @property
    def n(self) -> int: ...

    @property
    def queries(self) -> int: ...

    def pairs(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """weight of the pairs of each query"""

    def rows(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """weight of the rows of each query"""

    def set_scales(self, c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def has_few_pairs(self) -> bool: ...

    def value(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float:
        """R(p), pair by pair"""

    def evaluate(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> float: ...

class TableLoss:
    """The most harmful labelling for a measure of tables."""

    def __init__(self, positive: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    @property
    def n(self) -> int: ...

    @property
    def positives(self) -> float:
        """weight of the positives"""

    @property
    def negatives(self) -> float:
        """weight of the negatives"""

    def evaluate_fbeta(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: float, C: float, l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> float: ...

    def evaluate_precision(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: float, C: float, l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> float: ...

    def evaluate_recall(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: float, C: float, l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> float: ...

    def evaluate_break_even(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], C: float, l: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> float: ...

class LossInfo:
    """A line of the table of pointwise losses."""

    @property
    def name(self) -> str: ...

    @property
    def parameter(self) -> str:
        """what its parameter is called, or an empty word"""

    @property
    def on_margins(self) -> bool: ...

    @property
    def piecewise_linear(self) -> bool: ...

    @property
    def visit_logarithms(self) -> float:
        """
        what the logarithms of a visit of dual descent cost, in entries of a row
        """

def loss_table() -> list[LossInfo]:
    """The pointwise losses there are."""

class Pointwise:
    """A sum over rows of a loss of one residual."""

    def __init__(self, name: str, x: float, q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    @property
    def on_margins(self) -> bool: ...

    @property
    def domain(self) -> tuple[float, float]: ...

    @property
    def middle(self) -> float: ...

    @property
    def piecewise_linear(self) -> bool: ...

    def value(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> float: ...

    def evaluate(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], subgrad: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> float: ...

    def value_along(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: float, pool: Pool) -> float: ...

    def dual_sum(self, u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> tuple[float, float]:
        """(sum of c (t u - f*(u)), the same with all terms positive)"""

    def along(self, nu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: float, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: float, pool: Pool) -> tuple[float, float]:
        """(slope, curvature) of the rounded loss at p + k dp"""

    def slopes_along(self, nu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: float, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ks: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], slopes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
        """The slopes of `along` at several k."""

    def root_along(self, nu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: float, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], small: float, pool: Pool) -> float:
        """k, of either sign, where the slope of the rounded loss is about 0"""

    def proximal(self, nu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: float, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> tuple[float, float, float, int]:
        """(loss, dual sum, its size, rows with curvature); fills b and h"""

    def foretell_dual(self, b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], foretold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> tuple[float, float] | None:
        """The dual sum of b - h dp and its size, if that is feasible; else None"""

    def search_kinks(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], A0: float, B0: float, pool: Pool) -> float: ...

    def list_kinks(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: float, high: float, pool: Pool) -> KinkList: ...

    def sampled_bracket(self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], A0: float, B0: float) -> tuple[float, float]:
        """(low, high) around where the slope k A0 + B0 + ... is likely 0"""

class KinkList:
    """Kinks of a part of the rows in (low, high]."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def slope(self) -> float: ...

    @property
    def value(self) -> float: ...

    def __len__(self) -> int: ...

    def within(self, low: float, high: float) -> KinkList: ...

    def summarise(self, most: int) -> tuple[list[float], list[float], bool]:
        """(edges, rises, complete)"""

class KernelKind(enum.Enum):
    distance = 0

    rbf = 1

    laplacian = 2

    poly = 3

    linear = 4

class MatrixFault(enum.Enum):
    none = 0

    not_finite = 1

    asymmetric = 2

    indefinite = 3

class KernelFunction:
    """A kernel of inner products and norms."""

    def __init__(self, kind: KernelKind, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3, constant: float = 0.0) -> None: ...

    def diagonal(self, squared_norm: float) -> float: ...

def narrow_products(left: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None:
    """products[r, c] = <left[r], columns[:, c]>, for few features"""

def kernel_values(function: KernelFunction, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], row_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], column_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pool: Pool) -> None:
    """In place: inner products become kernel values."""

def kernel_columns(function: KernelFunction, rows: Rows, norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], point_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None:
    """out[q, i] = k(x_i, points[q])"""

@overload
def mean_shift(gamma: float, points: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], s: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None: ...

@overload
def mean_shift(gamma: float, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], s: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None:
    """
    f[j] = sum_q weights[q] k(b[j], points[q]), and s[j] the same sum of the points
    """

def fill_symmetric(function: KernelFunction, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], row: int, column: int, norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], K: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], pool: Pool) -> None:
    """
    A tile of inner products on or right of the diagonal becomes kernel values, mirrored.
    """

def copy_block(from_: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], to: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')]) -> None:
    """
    to[i, j] = from_[places[i], places[j]]; places ascend, and both may share their memory if their rows lie equally far apart
    """

def kernel_from_distances(function: KernelFunction, D: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], K: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], pool: Pool) -> None: ...

def nearest_columns(distances: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], first: int, nearest: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], pool: Pool) -> None: ...

def check_matrix(K: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], pool: Pool) -> tuple[MatrixFault, int, int]:
    """(fault, row, column)"""

class KernelRows:
    """Kernel rows behind row(i) and diagonal(i)."""

    @property
    def n(self) -> int: ...

    @property
    def whole(self) -> bool: ...

    @property
    def diagonal(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def row(self, arg: int, /) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

class MatrixRows(KernelRows):
    """A whole kernel matrix, used in place."""

    def __init__(self, K: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)]) -> None: ...

class PartialRows(KernelRows):
    """A matrix whose rows are computed when first asked for."""

    def __init__(self, rows: Rows, function: KernelFunction, K: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], pool: Pool) -> None: ...

    @property
    def computed(self) -> int: ...

    def filled(self) -> None:
        """Says that the whole matrix has been filled by somebody else."""

class CachedRows(KernelRows):
    """The kernel rows used last, within a budget."""

    def __init__(self, rows: Rows, function: KernelFunction, capacity: int, pool: Pool) -> None: ...

    least: Final[int] = ...
    """(arg: object, /) -> int"""

    @property
    def capacity(self) -> int: ...

    @property
    def computed(self) -> int: ...

def add_rows(rows: KernelRows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ranges: Annotated[NDArray[numpy.int64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pool: Pool) -> None:
    """
    out += sum_q coefficients[q] row(indices[q]) over the columns of the ranges
    """

def start_expand(rows: KernelRows, ranges: Annotated[NDArray[numpy.int64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], new_c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ratio: float, pool: Pool) -> None: ...

def start_cut(rows: KernelRows, ranges: Annotated[NDArray[numpy.int64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], new_c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ratio: float, pool: Pool) -> None: ...

class RunEnd(enum.Enum):
    tolerance = 0

    limit = 1

    stopped = 2

    stalled = 3

class GapRule(enum.Enum):
    clipped = 0

    plain = 1

    relative = 2

class TwoVariable:
    """Steps in two dual variables; see two_variable.py."""

    def __init__(self, rows: KernelRows, ranges: Annotated[NDArray[numpy.int64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], neighbours: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_neighbours: int, working_set: int = 7, rule: GapRule = GapRule.relative, seed: int = 0) -> None: ...

    def begin(self) -> None: ...

    def run(self, tolerance: float, limit: int, stop: Stop | None = None, owns_stop: bool = True) -> RunEnd: ...

    @property
    def T(self) -> float: ...

    @property
    def E(self) -> float: ...

    @property
    def S(self) -> float: ...

    @property
    def P(self) -> float: ...

    @property
    def gained(self) -> float: ...

    @property
    def iterations(self) -> int: ...

class RegressionSteps:
    """Steps in two dual variables for losses of residuals."""

    def __init__(self, rows: KernelRows, ranges: Annotated[NDArray[numpy.int64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: str, x: float) -> None: ...

    def begin(self) -> None: ...

    def run(self, tolerance: float, scale: float, limit: int, stop: Stop | None = None, owns_stop: bool = True) -> RunEnd: ...

    @property
    def gap(self) -> float: ...

    @property
    def P(self) -> float: ...

    @property
    def iterations(self) -> int: ...

class LossShape:
    """Tube, least and largest slope, and bends of a loss."""

    def __init__(self, arg0: str, arg1: float, /) -> None: ...

    @property
    def tube(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def bend_below(self) -> float: ...

    @property
    def bend_above(self) -> float: ...

@overload
def add_kernel_sums(function: KernelFunction, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], row_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], column_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], positive: int, sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    sums[r] += sum_c beta[c] k_rc, over the positive beta, which come first, and the others
    """

@overload
def add_kernel_sums(function: KernelFunction, products: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], row_norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], column_norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], positive: int, sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """The same in float32."""

def add_symmetric_sums(function: KernelFunction, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], row: int, column: int, norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], positive: int, sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    The same for a tile right of the diagonal, and its mirror image: sums[0], and sums[1]
    """
