#!/usr/bin/env python3
"""Prints the results of a folder as markdown: a table for each workload, then the performance budget."""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import budget
from results import read, short

ORDER = {"limit": 0, "subject": 1, "peer": 2}
# What the ratios in parentheses are taken to: the label of a row.
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
# Figures beside the median: (title, key).
COLUMNS = {
    "mixed": [("pairs/s", "pairs_per_s"), ("worst round of the median", "worst_of_median"), ("stops after, sends", "send_cap")],
    "latency": [("p10", "p10"), ("p99", "p99"), ("p99.9", "p99_9"), ("least", "min")],
    "lanes": [("CPU, both sides", "cpu"), ("least", "min")],
    "flood": [("peak queue", "peak_queue"), ("worst isolated call, ms", "worst_isolated_ms")],
    "scale": [("ns to make each", "making"), ("bytes of each", "bytes"), ("ns for each that goes", "going")],
    "memory": [
        ("bytes of an event", "event_bytes"), ("its blocks", "event_blocks"), ("bytes of a handler", "handler_bytes"),
        ("its blocks", "handler_blocks"), ("at handlers", "handlers"), ("allocations: send", "allocations_per_send"),
        ("add and remove", "allocations_per_pair"), ("once", "allocations_per_once")],
}


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def times(row, base):
    """The median, over the rounds in which both took part, of what `row` took by what `base` took."""
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
    """Limits, then the library, then the others; each from the lowest figure to the highest."""
    def key(row):
        return ORDER[row["kind"]], row["median"] if isinstance(row.get("median"), (int, float)) else float("inf")
    return sorted(rows, key=key)


def grid(results):
    """Peers down, parameters across: where the median says it all."""
    name, parameters = results.workload["name"], results.parameters
    base = {parameter: results.row(BASIS.get(name), parameter) for parameter in parameters}
    first = order([row for row in results.rows if row["parameter"] == parameters[min(1, len(parameters) - 1)]])
    labels = list(dict.fromkeys([row["label"] for row in first] + results.labels))
    rows = [[label] + [figure(results.row(label, parameter), base[parameter]) for parameter in parameters] for label in labels]
    unit = next((row["unit"] for row in results.rows if row["unit"]), "peer")
    table([unit] + parameters, rows)


def wide(results):
    """One table for each parameter: where there are figures beside the median."""
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
    """One table for each thing that grows: handlers, events, owners, threads."""
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
        print(f"- Others took up to {100 * max(noise):.0f} % of a core (medians of the rounds that count).")
    print()


def render(folder, only=None):
    """All workloads that were measured, or those that are named."""
    measured = {name: results for name, results in read(folder).items() if only is None or name in only}
    for name, results in measured.items():
        workload = results.workload
        rows = f"; budget {', '.join(workload['budget'])}" if workload["budget"] else ""
        print(f"### {name} ({workload['id']}{rows})\n\n{workload['summary']}\n")
        if not results.rows:
            continue
        (tall if name == "scale" else wide if name in COLUMNS else grid)(results)
        if name in BASIS:
            print(f"In parentheses: times \"{BASIS[name]}\".\n")
        remarks(results)
    rows = list(budget.table(measured))
    if rows:
        print("### The budget\n")
        table(["row", "what", "budget", "measured", "met", "to the limit", "to the best peer"], rows)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("render_tables.py FOLDER")
    render(Path(sys.argv[1]))
