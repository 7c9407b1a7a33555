#!/usr/bin/env python3
"""Prints the results in a folder as markdown: a section per workload, then the budget."""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import time_budget
from results import read, short

ORDER = {"limit": 0, "subject": 1, "peer": 2}
# For each workload, the label of the row that the ratios in parentheses refer to.
BASIS = {
    "sending": "LIMIT loop that borrows",
    "add-remove": "LIMIT slab with a free list, no lock",
    "replace-random": "LIMIT slab with a free list, no lock",
    "add-by-priority": "LIMIT sorted array, no lock",
    "once": "LIMIT slab with a free list, no lock",
    "contention": "LIMIT striped epochs",
    "lanes": "Dispatch and tasks / DispatchQueue.async",
    "latency": "Dispatch and tasks / DispatchQueue.async",
    "backlog": "Dispatch and tasks / DispatchQueue.async",
    "flood": "LIMIT striped epochs",
    "instructions": "LIMIT loop that borrows",
}
# The figures beside the median: (title, key).
COLUMNS = {
    "mixed": [("pairs/s", "pairs_per_s"), ("worst round by median", "worst_of_median"), ("stops after, sends", "send_cap")],
    "latency": [("p10", "p10"), ("p99", "p99"), ("p99.9", "p99_9"), ("least", "min")],
    "lanes": [("CPU, both sides", "cpu"), ("least", "min")],
    "flood": [("peak queue", "peak_queue"), ("worst isolated call, ms", "worst_isolated_ms")],
    "client": [("bytes of code a type", "bytes"), ("of these the library's", "library_bytes")],
    "scale": [("ns to make each", "making"), ("bytes of each", "bytes"), ("ns for each released", "going")],
    "memory": [
        ("bytes of an event", "event_bytes"), ("its blocks", "event_blocks"), ("bytes of a handler", "handler_bytes"),
        ("its blocks", "handler_blocks"), ("at handlers", "handlers"), ("allocations: send", "allocations_per_send"),
        ("add and remove", "allocations_per_pair"), ("once", "allocations_per_once")],
}
# How to read the tables of some workloads, beyond what README.md says of all tables.
NOTES = {
    "mixed": (
        "A library with an unbounded queue stops after 3,000 sends per sender, or its queue would be all that is "
        "measured. This library bounds its own backlog and runs for the whole time. The worst round is reliable only "
        "on a machine that runs nothing else."),
    "latency": (
        "The figures are quantiles; *ns* is the median. The 99.9th percentile is reliable only on a machine that runs "
        "nothing else."),
    "lanes": "*CPU, both sides* is the time of all threads for one delivery.",
    "memory": "*Its blocks* are blocks of the heap.",
    "flood": (
        "The peak queue is the maximum number of posts that were made and not delivered, as the posting threads see "
        "it every 256 posts."),
}


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def times(row, base):
    """Returns the median of the ratios of `row` to `base` within the rounds that have both."""
    pairs = zip(row.get("samples") or [], base.get("samples") or [])
    quotients = sorted(a / b for a, b in pairs if isinstance(a, (int, float)) and isinstance(b, (int, float)) and b)
    if quotients:
        return quotients[len(quotients) // 2]
    return row["median"] / base["median"] if row.get("median") and base.get("median") else None


def figure(row, base):
    if row is None:
        return "-"
    if row["status"] == "n/a":
        return "n/a"
    text = short(row.get("median"))
    if base and base is not row and row.get("median") is not None and (quotient := times(row, base)) is not None:
        text += f" ({quotient:.1f}×)" if quotient < 100 else f" ({quotient:.0f}×)"
    return f"**WRONG** {text}" if row["status"] == "WRONG" else text


def order(rows):
    """Sorts rows: limits, then the library, then other peers; each group by ascending figure."""
    def key(row):
        return ORDER[row["kind"]], row["median"] if isinstance(row.get("median"), (int, float)) else float("inf")
    return sorted(rows, key=key)


def grid(results):
    """Prints a table with a row per peer and a column per parameter."""
    name, parameters = results.workload["name"], results.parameters
    base = {parameter: results.row(BASIS.get(name), parameter) for parameter in parameters}
    first = order([row for row in results.rows if row["parameter"] == parameters[min(1, len(parameters) - 1)]])
    labels = list(dict.fromkeys([row["label"] for row in first] + results.labels))
    rows = [[label] + [figure(results.row(label, parameter), base[parameter]) for parameter in parameters] for label in labels]
    unit = next((row["unit"] for row in results.rows if row["unit"]), "peer")
    table([unit] + parameters, rows)


def wide(results):
    """Prints a table per parameter, with the figures beside the median as columns."""
    name = results.workload["name"]
    for parameter in results.parameters:
        rows = [row for row in results.rows if row["parameter"] == parameter and row["status"] != "n/a"]
        base, unit = results.row(BASIS.get(name), parameter), next((row["unit"] for row in rows if row["unit"]), "")
        median = [] if name == "memory" else [unit]
        if name == "memory":
            rows = [row for row in rows if row["extra"]]
        lines = []
        for row in order(rows):
            main = [] if name == "memory" else [figure(row, base)]
            lines.append([row["label"]] + main + [short(row["extra"].get(key, row.get(key))) for _, key in COLUMNS[name]])
        table([parameter] + median + [title for title, _ in COLUMNS[name]], lines)


def tall(results):
    """Prints a table for each kind of thing that grows: handlers, events, owners, threads."""
    groups = {}
    for row in results.rows:
        count, thing = row["parameter"].split(" ", 1)
        groups.setdefault("threads" if thing.startswith("thread") else thing.removesuffix("s") + "s", []).append((count, thing, row))
    for thing, rows in groups.items():
        extra = [(title, key) for title, key in COLUMNS["scale"] if any(key in row["extra"] for _, _, row in rows)]
        unit = rows[0][2]["unit"]
        counts = {}
        for count, words, row in rows:
            counts.setdefault(row["parameter"] if thing == "threads" else count, []).append(row)
        table([thing, "", unit] + [title for title, _ in extra], [
            [count if index == 0 else "", row["label"], figure(row, None)] + [short(row["extra"].get(key)) for _, key in extra]
            for count, some in counts.items() for index, row in enumerate(order(some))])


def remarks(results):
    """Prints the remarks, faults, missing rows and load of other processes below a table."""
    for line in results.remarks:
        print(f"- {line}")
    for row in results.rows:
        if row["status"] == "WRONG":
            print(f"- WRONG: {row['label']}, {row['parameter']}: {row['note']}")
    reasons = {}
    for row in results.rows:
        if row["status"] == "n/a":
            reasons.setdefault(re.sub(r"\d+ handlers", "that many", row["note"]), []).append(row["label"])
    for reason, labels in reasons.items():
        print(f"- n/a, {reason}: " + ", ".join(dict.fromkeys(labels)))
    noise = [row["noise"] for row in results.rows if isinstance(row.get("noise"), (int, float))]
    if noise:
        print(f"- Other processes took at most {100 * max(noise):.0f} % of a core (median over the rounds that count).")
    print()


def render(folder, only=None, beneath=None):
    """Prints all measured workloads, or only some.

    `beneath` has, for some workloads, paragraphs to print between the summary and the tables.
    """
    measured = {name: results for name, results in read(folder).items() if only is None or name in only}
    for name, results in measured.items():
        workload = results.workload
        rows = f" (budget {', '.join(workload['budget'])})" if workload["budget"] else ""
        print(f"## {name}\n\n{workload['id']}{rows}: {workload['summary']}.\n")
        if not results.rows:
            continue
        for paragraph in (beneath or {}).get(name, []):
            print(f"{paragraph}\n")
        if name in NOTES:
            print(f"{NOTES[name]}\n")
        (tall if name == "scale" else wide if name in COLUMNS else grid)(results)
        if name in BASIS:
            print(f"In parentheses: the ratio to \"{BASIS[name]}\".\n")
        remarks(results)
    rows = list(time_budget.table(measured))
    if rows:
        print("## The budget\n")
        table(["row", "what", "budget", "measured", "met", "to the limit", "to the best peer"], rows)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("results_tables.py FOLDER")
    render(Path(sys.argv[1]))
