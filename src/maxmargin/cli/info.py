"""``maxmargin info``: what a data or model file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import options, tables
from maxmargin.cli.console import print_facts, print_json
from maxmargin.cli.options import Choices, Option

if TYPE_CHECKING:
    from maxmargin.data import BlockSource
    from maxmargin.data.store.store import StoreSource

STORED = {"csr": "sparse rows", "dense": "dense rows", "strings": "strings"}
MOST_SHOWN = 20  # classes or columns in a table for people; --json has them all
ROLES = ("target", "weight", "qid")


WEIGHTS = Option("--weights", "The N largest weights of a linear model.", int, metavar="N", least=1)
OPTIONS = (
    WEIGHTS,
    *(options.FORMAT, options.TARGET, options.QID, options.ZERO_BASED, options.THREADS),
    options.JSON,
)
EXAMPLES = (
    ("info spam.svm", "rows, features, labels"),
    ("info spam.svm.model", "classes, parameters, certificate"),
    ("info spam.svm.model --weights 20", "which features count, and which way"),
)


def info(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Data or a model; '-' is stdin.")],
    *,
    choices: Choices,
) -> None:
    """Describe a data file or a model."""
    from maxmargin.models import load_model
    from maxmargin.models.files import is_model

    if path != "-" and is_model(path):
        model = load_model(path)
        facts = about_model(model)
        if choices.weights is not None:
            facts["weights"] = largest_weights(model, choices.weights)
    elif path != "-" and (store := _store(path)) is not None:
        facts = about_store(store)
    else:
        facts = about_rows(path, choices)
    if choices.json:
        print_json(facts)
    else:
        print_facts(path, {name.replace("_", " "): _told(item) for name, item in facts.items()})


def about_model(model: Any) -> dict[str, Any]:
    from maxmargin.models.files import kind_of

    certificate = model.certificate
    return {
        "kind": f"{kind_of(model)} model",
        "features": model.n_features,
        **facts_of(model),
        "solver": model.solver,
        "parameters": plain_parameters(model),
        "certificate": None if certificate is None else certificate.as_dict(),
    }


def largest_weights(model: Any, count: int) -> list[dict[str, Any]]:
    """The weights of largest size, each with its feature and, of several classes, its class."""
    import numpy as np

    if not hasattr(model, "coef"):
        raise typer.BadParameter("--weights is for linear models: leave it out")
    coef, first = model.coef, 1 if model.index_base is None else model.index_base
    order = np.argsort(-np.abs(coef), axis=None, kind="stable")[:count]
    named: list[dict[str, Any]] = []
    for k, j in zip(*np.unravel_index(order, coef.shape)):
        feature = int(j) + first if model.feature_names is None else model.feature_names[j]
        told = {"feature": feature, "weight": float(coef[k, j])}
        named.append(told if len(coef) == 1 else {"class": model.classes[k].item()} | told)
    return named


def facts_of(model: Any) -> dict[str, Any]:
    """What a model has that models of other kinds may not."""
    facts: dict[str, Any] = {}
    if hasattr(model, "classes"):
        facts["classes"] = model.classes.tolist()
    if hasattr(model, "coef"):
        facts["nonzero_weights"] = int((model.coef != 0).any(axis=0).sum())
    for name in ("intercept", "thresholds"):
        if getattr(model, name, None) is not None:
            facts[name] = getattr(model, name).tolist()
    if getattr(model, "encoder", None) is not None:
        facts["encoding"] = tables.facts(model.encoder)
    if hasattr(model, "kernel"):
        facts["kernel"] = str(model.kernel)
    if hasattr(model, "support"):
        facts["support_vectors"] = len(model.support)
    if hasattr(model, "cells"):
        facts["cells"], facts["support_vectors"] = len(model.cells), model.n_support
        if hasattr(model, "constant_cells"):
            facts["cells_of_one_class"] = len(model.constant_cells)
    if hasattr(model, "n_basis"):
        facts["basis_vectors"] = model.n_basis
        facts |= {name: getattr(model, name) for name in ("delta", "theorem2_bound", "exact_gap")}
        facts["bounds_are_estimates"] = model.bounds_are_estimates
    if hasattr(model, "features"):
        facts["features_made"] = None if model.features is None else model.features.packed()[0]
    return facts


def plain_parameters(model: Any) -> dict[str, Any]:
    """Parameters as JSON can hold them: mappings, whose keys may be numbers, as pairs."""
    return {
        name: list(map(list, value.items())) if isinstance(value, dict) else value
        for name, value in model.parameters.items()
    }


def _store(path: str) -> StoreSource | None:
    """The row store of this name, if it is one: a look at its end tells all about it."""
    with open(path, "rb") as file:
        if file.read(6) != b"ARROW1":  # before pyarrow, which is slow to import
            return None
    from maxmargin.data.store.store import StoreSource, is_store

    return StoreSource(path) if is_store(path) else None


def about_store(store: StoreSource) -> dict[str, Any]:
    described, summary = store.description, store.summary
    n, d = store.n, store.d
    facts: dict[str, Any] = {"kind": f"row store of {STORED[store.kind]}", "rows": n}
    if store.kind == "strings":
        facts["letters"] = summary.entries
    else:
        facts |= {"features": d, "entries": summary.entries}
        facts["density"] = summary.entries / (n * d) if n * d else 0.0
    facts["columns"] = described.columns
    if "label" in described.columns and summary.labels is not None:
        facts["labels"] = summary.labels
    facts |= {
        "blocks": len(summary.checksums),
        "largest_block": store.largest_block,
        "compression": described.compression or "none",
        "order": "as read"
        if described.shuffled is None
        else f"shuffled, seed {described.shuffled}",
        "fingerprint": store.fingerprint,
        "made_from": described.source,
    }
    if described.index_base is not None:
        facts["first_feature_number"] = described.index_base
    if described.feature_names is not None:
        facts["feature_names"] = described.feature_names
    return facts


def _streamed(path: str, choices: Choices) -> BlockSource:
    """A file block by block: a look at it needs a few megabytes, however large it is. Only what
    comes from standard input, which is read once, is in memory."""
    from maxmargin.cli import rows
    from maxmargin.data import open_source

    return open_source(rows.read(path, choices)) if path == "-" else rows.source_of([path], choices)


def about_rows(path: str, choices: Choices) -> dict[str, Any]:
    """Labelled rows of numbers, or else a table of anything."""
    from maxmargin.data import DataError

    try:
        return about_source(_streamed(path, choices))
    except DataError as error:
        try:
            facts = about_table(path, choices)
        except DataError:  # no table either
            facts = None
        if facts is None:
            raise error from None
        return facts


def about_table(path: str, choices: Choices) -> dict[str, Any] | None:
    """What `train` would make of each column; None where a file is no table.

    Without a target all columns are described.
    """
    from maxmargin.cli import rows
    from maxmargin.cli.fitting import warnings_as_messages
    from maxmargin.data.encoding.source import EncodedSource
    from maxmargin.data.store.rows import LabelCounts

    if path == "-":
        return None  # it has been read
    unlabelled = {} if choices.target is not None else {"target": False}
    with warnings_as_messages():
        source = rows.source_of([path], choices, encode="auto", **unlabelled)
    if not isinstance(source, EncodedSource):
        return None
    facts = {"kind": "table", "rows": source.n, "features": source.d}
    facts["encoding"] = tables.facts(source.encoder)
    labels = LabelCounts()
    if not unlabelled:
        for block in source.blocks():
            labels.add(block.y)
    return facts | _about_labels(labels.as_list())


def about_source(source: BlockSource) -> dict[str, Any]:
    """What one pass over the rows finds."""
    import numpy as np
    import scipy.sparse as sp

    from maxmargin.data.store.rows import LabelCounts

    entries = 0
    weight: float | None = None
    labels, queries = LabelCounts(), None
    for block in source.blocks():
        X: Any = block.X
        values = X.letters if source.kind == "strings" else X.data if sp.issparse(X) else X
        entries += int(np.count_nonzero(values))
        labels.add(block.y)
        if block.weight is not None:
            weight = (weight or 0.0) + float(block.weight.sum())
        if block.qid is not None:
            queries = (queries or _Queries()).with_more(block.qid)
    n, d = source.n, source.d
    facts: dict[str, Any] = {"kind": STORED[source.kind], "rows": n}
    if source.kind == "strings":
        facts["letters"] = entries
    else:
        density = entries / (n * d) if n * d else 0.0
        facts |= {"features": d, "nonzeros": entries, "density": density}
    facts |= _about_labels(labels.as_list())
    if queries is not None:
        facts["queries"] = queries.count
    if weight is not None:
        facts["total_weight"] = weight
    if source.index_base is not None:
        facts["first_feature_number"] = source.index_base
    if source.feature_names is not None:
        facts["feature_names"] = list(source.feature_names)
    return facts


class _Queries:
    """How many different queries there are; many more than are worth the memory are not counted."""

    most = 1_000_000

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def with_more(self, qid: Any) -> _Queries:
        if len(self._seen) <= self.most:
            self._seen.update(qid.tolist())
        return self

    @property
    def count(self) -> int | str:
        found = len(self._seen)
        return found if found <= self.most else f"more than {self.most}"


def _about_labels(counts: list[list[Any]] | None) -> dict[str, Any]:
    import numpy as np

    from maxmargin.data.store.rows import FEW_LABELS
    from maxmargin.models.labels import whole_numbers

    if counts is None:
        return {"labels": f"more than {FEW_LABELS} different ones"}
    if not counts:
        return {}
    labels = whole_numbers(np.array([label for label, _ in counts]))
    return {"labels": [[label, n] for label, (_, n) in zip(labels.tolist(), counts)]}


def _weight(told: dict[str, Any]) -> str:
    of = f"class {told['class']}  " if "class" in told else ""
    return f"{told['weight']:+12.6g}  {of}{told['feature']}"


def _told(value: object) -> str:
    """A fact for people: what was done to columns begins with each one's name."""
    if not isinstance(value, dict) or "columns" not in value:
        return _text(value)
    columns: list[dict[str, Any]] = value["columns"]
    lines = [
        f"{_line(c['name'])}: {c['kind']}, {c['features']} feature{'s' * (c['features'] > 1)}"
        for c in columns[:MOST_SHOWN]
    ]
    if len(columns) > MOST_SHOWN:
        lines.append(f"... {len(columns) - MOST_SHOWN} columns more")
    lines += [f"{_line(name)}: left out, {why}" for name, why in value["left_out"].items()]
    return "\n".join(lines + [f"{_line(value[r])}: the {r}" for r in ROLES if r in value])


def _line(name: str) -> str:
    return " ".join(name.split())


def _text(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name} = {_text(item)}" for name, item in value.items())
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "\n".join(_weight(item) for item in value)
    if isinstance(value, list):
        shown = [
            f"{item[0]} ({item[1]})" if isinstance(item, list) else _text(item)
            for item in value[:MOST_SHOWN]
        ]
        more = f", ... {len(value) - MOST_SHOWN} more" if len(value) > MOST_SHOWN else ""
        return ", ".join(shown) + more
    return f"{value:.6g}" if isinstance(value, float) else str(value)
