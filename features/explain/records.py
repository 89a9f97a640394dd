"""Ledgers, ways back and margins as records, a line each: for tables, CSV and JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from adgm.explain.ledger import Ledger
from adgm.explain.margins import Margin
from adgm.explain.paths import Path, named_matches
from adgm.explain.terms import Match

Record = dict[str, Any]


def ledger_records(book: Ledger) -> list[Record]:
    found = []
    for line in book.lines:
        matches = [named_matches(term.matches) if term else "" for term in (line.here, line.there)]
        found.append(
            {
                "potential": book.names[line.potential],
                "left points": " ".join(map(str, line.left)),
                "answer": matches[0],
                "cost of the answer": line.costs[0],
                "truth": matches[1],
                "cost of the truth": line.costs[1],
                "speaks for the answer": line.favour,
            }
        )
    return found


def way_records(way: Path) -> list[Record]:
    return [
        {
            "exchange": k,
            "gone": named_matches(step.gone),
            "came": named_matches(step.came),
            "cost": step.cost,
            "energy": step.energy,
        }
        for k, step in enumerate(way.steps, 1)
    ]


def margin_records(found: Iterable[Margin], shares: Mapping[Match, float] | None = None) -> list[Record]:
    """With the stability of the matches where that is known."""
    return [
        {
            "left": m.match[0],
            "right": m.match[1],
            "margin": m.margin,
            "proved at least": m.at_least,
            "certified": m.certified,
            **({} if shares is None else {"stability": shares.get(m.match)}),
        }
        for m in found
    ]
