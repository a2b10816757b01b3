"""``maxmargin info``: what a data or model file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import kinds, options
from maxmargin.cli.console import print_facts, print_json
from maxmargin.cli.train import plain_parameters

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.data.store import StoreSource

STORED = {"csr": "sparse rows", "dense": "dense rows", "strings": "strings"}
MOST_SHOWN = 20  # classes in a table for people; --json has them all


def info(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Data or a model; '-' is stdin.")],
    format: options.DataFormat = None,
    target: options.Target = None,
    qid: options.Query = None,
    zero_based: options.ZeroBased = None,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Describe a data file or a model."""
    from maxmargin.cli import rows
    from maxmargin.models import load_model
    from maxmargin.models.files import is_model

    if path != "-" and is_model(path):
        facts = about_model(load_model(path))
    elif path != "-" and (store := _store(path)) is not None:
        facts = about_store(store)
    else:
        facts = about_data(
            rows.read(
                path,
                format=format,
                target=target,
                qid=qid,
                zero_based=zero_based,
                threads=threads,
            )
        )
    if json:
        print_json(facts)
    else:
        print_facts(path, {name: _text(value) for name, value in facts.items()})


def about_model(model: Any) -> dict:
    from maxmargin.models.files import kind_of

    certificate = model.certificate
    return {
        "kind": f"{kind_of(model)} model",
        "features": model.n_features,
        **kinds.machine_of(model).facts(model),
        "solver": model.solver,
        "parameters": plain_parameters(model),
        "certificate": None if certificate is None else certificate.as_dict(),
    }


def _store(path: str) -> StoreSource | None:
    """The row store of this name, if it is one: a look at its end tells all about it."""
    with open(path, "rb") as file:
        if file.read(6) != b"ARROW1":  # before pyarrow, which is slow to import
            return None
    from maxmargin.data.store import StoreSource, is_store

    return StoreSource(path) if is_store(path) else None


def about_store(store: StoreSource) -> dict:
    described, summary = store.description, store.summary
    n, d = store.n, store.d
    facts: dict = {"kind": f"row store of {STORED[store.kind]}", "rows": n}
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
        "largest block": store.largest_block,
        "compression": described.compression or "none",
        "order": "as read"
        if described.shuffled is None
        else f"shuffled, seed {described.shuffled}",
        "fingerprint": store.fingerprint,
        "made from": described.source,
    }
    if described.index_base is not None:
        facts["first feature number"] = described.index_base
    if described.feature_names is not None:
        facts["feature names"] = described.feature_names
    return facts


def about_data(dataset: Dataset) -> dict:
    import numpy as np
    import scipy.sparse as sp

    X: Any = dataset.X
    n, d = X.shape
    nonzeros = int(X.count_nonzero()) if sp.issparse(X) else int(np.count_nonzero(X))
    facts: dict = {
        "kind": "sparse rows" if sp.issparse(X) else "dense rows",
        "rows": n,
        "features": d,
        "nonzeros": nonzeros,
        "density": nonzeros / (n * d) if n * d else 0.0,
    }
    if dataset.y is not None:
        labels, counts = np.unique(dataset.y, return_counts=True)
        facts["labels"] = [list(pair) for pair in zip(labels.tolist(), counts.tolist())]
    if dataset.qid is not None:
        facts["queries"] = len(np.unique(dataset.qid))
    if dataset.weight is not None:
        facts["total weight"] = float(dataset.weight.sum())
    if dataset.index_base is not None:
        facts["first feature number"] = dataset.index_base
    if dataset.feature_names is not None:
        facts["feature names"] = list(dataset.feature_names)
    return facts


def _text(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name} = {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        shown = [
            f"{item[0]} ({item[1]})" if isinstance(item, list) else _text(item)
            for item in value[:MOST_SHOWN]
        ]
        more = f", ... {len(value) - MOST_SHOWN} more" if len(value) > MOST_SHOWN else ""
        return ", ".join(shown) + more
    return f"{value:.6g}" if isinstance(value, float) else str(value)
