"""The performance budget: the goals of the library, beside the measured figures.

The goals in nanoseconds were set on another machine than the one that measures. So the ratios of
the figures to the `LIMIT` rows of the same run say more.
"""
from dataclasses import dataclass, field

from results import short

POST, SEND, MAIN = "eventing-post", "eventing-send", "eventing-send-main"
LIMIT = "loop-borrowing"


@dataclass
class Line:
    """A row of the budget. Compares `figure` with `limit`, and `row[key]` with rows of others."""
    name: str
    what: str
    relation: str
    limit: float
    figure: float | None
    row: dict | None = None
    key: str = "median"
    others: list = field(default_factory=list)


def less(a, b):
    return None if a is None or b is None else a - b


def ratio(a, b):
    return None if a is None or not b else a / b


def of(row, key="median"):
    """Returns a field of a row or one of its extra figures, or None if the row has neither."""
    return None if row is None or row["status"] != "ok" else row.get(key, row["extra"].get(key))


def lines(measured):
    """Yields the budget's lines for all measured workloads."""
    for workload, check in CHECKS.items():
        if workload in measured:
            for line in check(measured[workload]):
                if line.row:
                    parameter = line.row["parameter"]
                    line.others = [row for row in measured[workload].rows if row["parameter"] == parameter and row["kind"] != "subject"]
                yield line


def sending(r):
    for n in ["1 handler", "8 handlers"]:
        yield Line("P1", f"post, {n}: ns over the limit", "<=", 4, less(r.value(POST, n), r.value(LIMIT, n)), r.first(POST, n))
    for n in ["64 handlers", "1,024 handlers"]:
        yield Line("P1", f"post, {n}: times the limit", "<=", 1.1, ratio(r.value(POST, n), r.value(LIMIT, n)), r.first(POST, n))
    for peer, where in [(SEND, "from a task"), (MAIN, "from the main actor")]:
        for n in ["1 handler", "8 handlers"]:
            over = less(r.value(peer, n), r.value(POST, n))
            yield Line("P3", f"await send {where}, {n}: ns over post", "<=", 3, over, r.first(peer, n))


def instructions(r):
    for n, most in [("1 handler", 67), ("8 handlers", 230)]:
        yield Line("P2", f"post, {n}: instructions", "<=", most, r.value(POST, n), r.first(POST, n))
    for n, most in KINDS:
        yield Line("P14", f"{n}: instructions", "<=", most, r.value(POST, n), r.first(POST, n))
    n = "a delivery elsewhere"
    task = of(r.row("Dispatch and tasks / a task each", n))
    for label in [".concurrent(limit: 4)", ".task"]:
        row = r.row(f"Eventing post / {label}", n)
        yield Line("P16", f"{label}: instructions, times a task each", "<=", 2, ratio(of(row), task), row)


KINDS = [("by key, Int", 380), ("last value replayed", 250), ("value set, 0 handlers", 90), ("value set, 1 handler", 240), ("map.filter", 210)]
KIND_TIMES = [("by key, Int", 45), ("last value replayed", 35), ("value set, 0 handlers", 20), ("value set, 1 handler", 30), ("map.filter", 20)]


def kinds(r):
    for n, most in KIND_TIMES:
        yield Line("P14", f"{n}: ns", "<=", most, r.value(POST, n), r.first(POST, n))
    n = "throttled, dropped"
    yield Line("H6", f"{n}: ns", "<=", 15, r.value(POST, n), r.first(POST, n))
    one, nine = "1 handler, inspection", "9 handlers, inspection"
    plain, polled = (r.row(f"Eventing post / {label}", one) for label in ["none", "polled"])
    yield Line("S2", "a polled event: ns over a plain one", "<=", 1, less(of(polled), of(plain)), polled)
    traced = [r.row("Eventing post / traced", n) for n in (one, nine)]
    delivery = ratio(less(of(traced[1]), of(traced[0])), 8)
    yield Line("S3", "a traced delivery: ns", "<=", 150, delivery, traced[1])


def contention(r):
    for n in ["2 senders", "4 senders"]:
        for peer, verb in [(POST, "post"), (SEND, "await send")]:
            yield Line("P4", f"{verb}, {n}: ns", "<=", 50, r.value(peer, n), r.first(peer, n))


def add_remove(r):
    for n in ["0 others", "1,000 others", "100,000 others"]:
        yield Line("P5", f"add and remove, {n}: ns", "<=", 65, r.value(POST, n), r.first(POST, n))


def replace_random(r):
    n = "100,000 handlers"
    yield Line("P5", f"replace a random one of {n}: ns", "<=", 500, r.value(POST, n), r.first(POST, n))


def add_by_priority(r):
    n = "1,000 others"
    yield Line("P5", "add and remove in the middle of 1,000 by priority: ns", "<=", 1_000, r.value(POST, n), r.first(POST, n))


def mixed(r):
    n = "2 senders, 2 changers"
    figures = [("sends/s", "median", 4.5e6), ("pairs/s", "pairs_per_s", 2e6), ("worst round by median", "worst_of_median", 2 / 3)]
    for peer, verb in [(POST, "post"), (SEND, "await send")]:
        for what, key, least in figures:
            yield Line("P6", f"{verb}: {what}", ">=", least, r.value(peer, n, key), r.first(peer, n), key)


def once(r):
    yield Line("P7", "once and post: ns", "<=", 130, r.value(POST, "once and send"), r.first(POST, "once and send"))


ELSEWHERE = ["background", "queue", "main", "async", "payloads()"]
MODIFIED = [("H5", "batches of 100", 15), ("H7", "in order by key, 1,000 keys", 250)]


def lanes(r):
    for row in r.of_peer(POST):
        if row["label"].split("/ ")[-1].lstrip(".") in ELSEWHERE:
            yield Line("P8", f"{row['label']}: ns a delivery", "<=", 55, of(row), row)
    own, shared = (r.row(f"Eventing post / {label}", "one consumer") for label in ["async", "a shared Lane"])
    yield Line("H8", "a shared Lane, times a lane of its own", "<=", 1.2, ratio(of(shared), of(own)), shared)
    for name, label, most in MODIFIED:
        row = r.row(f"Eventing post / {label}", "one consumer")
        yield Line(name, f"{label}: ns a delivery", "<=", most, of(row), row)


def latency(r):
    for n in r.parameters:
        dispatch = of(r.row("Dispatch and tasks / DispatchQueue.async", n))
        for row in r.of_peer(POST):
            if row["parameter"] == n and (".queue" in row["label"] or ".background" in row["label"]):
                yield Line("P9", f"{row['label']}, {n}: p50, times DispatchQueue.async", "<=", 1.1, ratio(of(row), dispatch), row)


def memory(r):
    for peer, verb in [(POST, "post"), (SEND, "await send"), (MAIN, "await send from the main actor")]:
        key = "allocations_per_send"
        yield Line("P10", f"{verb}: allocations", "<=", 0, r.value(peer, "heap", key), r.first(peer, "heap"), key)
    for what, key, most in [("an idle event", "event_bytes", 160), ("a handler", "handler_bytes", 116)]:
        yield Line("P11", f"bytes of {what}", "<=", most, r.value(POST, "heap", key), r.first(POST, "heap"), key)


def backlog(r):
    for label in r.labels:
        few, many = r.row(label, "1,000 items"), r.row(label, "1,000,000 items")
        if few and many and few["peer"] == POST:
            yield Line("P12", f"{label}: an item of 1,000,000 by one of 1,000", "<=", 1.3, ratio(of(many), of(few)), many)


def flood(r):
    for n in r.parameters:
        row = r.first(POST, n)
        yield Line("P13", f"{n}: peak queue", "<=", 3_000, r.value(POST, n, "peak_queue"), row, "peak_queue")
        if n in ["1 thread", "2 threads"]:
            yield Line("P13", f"{n}: ns a post until all is delivered", "<=", 100, r.value(POST, n), row)
        key = "worst_isolated_ms"
        yield Line("P13", f"{n}: worst isolated call, ms", "<=", 20, r.value(POST, n, key), row, key)


def main_queue(r):
    n = "calls of 2 ms"
    yield Line("P17", "the longest block of a lane on the main queue, ms", "<=", 8, r.value(POST, n), r.first(POST, n))


def client(r):
    n = "20 types"
    streams = of(r.first("asyncstream", n))
    yield Line("P15", f"{n}: CPU to compile, times that of AsyncStreams", "<=", 2, ratio(r.value(POST, n), streams), r.first(POST, n))
    for what, key, most in [("of the library's code", "library_bytes", 512), ("of code in all", "bytes", 6_144)]:
        yield Line("P15", f"{n}: bytes {what}, a type", "<=", most, r.value(POST, n, key), r.first(POST, n), key)


CHECKS = {
    check.__name__.replace("_", "-"): check
    for check in [
        sending, instructions, contention, add_remove, replace_random, add_by_priority, mixed, once, lanes, latency, memory, backlog, flood, kinds, main_queue,
        client]
}
# The limit of the column "to the limit", for rows that do not use the lowest of all limits.
FLOORS = {"P1": LIMIT, "P2": LIMIT, "P3": LIMIT}


def against(line, kind):
    """Returns the ratio of the library's figure to the best figure of that kind, with its label."""
    best = min if line.relation == "<=" else max
    ours = of(line.row, line.key)
    # Peers that are awaited run no handler elsewhere.
    rows = [row for row in line.others if row["kind"] == kind and of(row, line.key) and not row["label"].endswith("/ await send")]
    if kind == "limit" and line.name in FLOORS:
        rows = [row for row in rows if row["peer"] == FLOORS[line.name]]
    if ours is None or not rows:
        return "-"
    other = best(rows, key=lambda row: of(row, line.key))
    return f"{precise(ours / of(other, line.key))} × {other['label'].removeprefix('LIMIT ')}"


def table(measured):
    """Yields the measured rows of the budget, in the order of their numbers."""
    for line in sorted(lines(measured), key=lambda line: int(line.name[1:])):
        if line.figure is None:
            continue
        # 160.2 bytes count as 160: the measurement of 20,000 events keeps a few bytes itself.
        met = line.figure <= line.limit * 1.005 if line.relation == "<=" else line.figure >= line.limit
        most = f"{'at most' if line.relation == '<=' else 'at least'} {precise(line.limit)}"
        yield [
            line.name, line.what, most, precise(line.figure), "yes" if met else "NO", against(line, "limit"), against(line, "peer")]


def precise(figure):
    """Returns a figure with two decimals below 10, and as `short` does above."""
    return f"{figure:.2f}".removeprefix("-") if abs(figure) < 0.005 else f"{figure:.2f}" if abs(figure) < 10 else short(figure)
