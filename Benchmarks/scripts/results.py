"""Reads the JSON files that the program writes."""
import json
import re


class Results:
    """The rows of one workload, looked up by the label of a peer and a parameter."""

    def __init__(self, path):
        document = json.loads(path.read_text())
        self.workload = document["workloads"][0]
        self.rows = document["rows"]
        self.remarks = document["remarks"]
        self.found = {(row["label"], row["parameter"]): row for row in self.rows}

    @property
    def parameters(self):
        return list(dict.fromkeys(row["parameter"] for row in self.rows))

    @property
    def labels(self):
        return list(dict.fromkeys(row["label"] for row in self.rows))

    def row(self, label, parameter):
        return self.found.get((label, parameter))

    def of_peer(self, peer):
        return [row for row in self.rows if row["peer"] == peer]

    def first(self, peer, parameter):
        return next((row for row in self.of_peer(peer) if row["parameter"] == parameter), None)

    def value(self, peer, parameter, key="median", label=None):
        """Returns a figure by the peer's id, or None. `key` is a field or one of `extra`.

        If a peer has several rows for a parameter, `label` says which.
        """
        for row in self.of_peer(peer):
            if row["parameter"] == parameter and row["status"] == "ok" and label in (None, row["label"]):
                return row.get(key, row["extra"].get(key))
        return None


def read(folder):
    """Returns the results of all workloads in a folder, by name."""
    found = sorted((Results(path) for path in folder.glob("*.json")), key=lambda results: in_order(results.workload["id"]))
    return {results.workload["name"]: results for results in found}


def in_order(workload):
    """Returns a sort key: W2 before W2P before W10."""
    letters, digits, more = re.fullmatch(r"(\D+)(\d*)(\D*)", workload).groups()
    return (not digits, int(digits or 0), more)


def short(number):
    """Returns a figure with three or four digits."""
    if number is None or isinstance(number, str):
        return "-"
    if abs(number) < 0.05:
        number = 0.0
    if abs(number) >= 1e6:
        return f"{number / 1e6:.2f} M"
    if abs(number) >= 1e4:
        return f"{number / 1e3:.1f} k"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.1f}"
