"""The performance budget: what the library promises itself, beside what was measured.

Times in nanoseconds are those of the machine that the budget was made on; on another one look at the ratios to the `LIMIT` rows.
"""
from results import short

POST, SEND, MAIN = "eventing-post", "eventing-send", "eventing-send-main"
LIMIT = "loop-borrowing"


def less(a, b):
    return None if a is None or b is None else a - b


def ratio(a, b):
    return None if a is None or not b else a / b


def lines(measured):
    """Yields (row of the budget, what, relation, limit, figure)."""
    for workload, check in CHECKS.items():
        if workload in measured:
            yield from check(measured[workload])


def sending(r):
    for n in ["1 handler", "8 handlers"]:
        yield "P1", f"post, {n}: ns over the limit", "<=", 4, less(r.value(POST, n), r.value(LIMIT, n))
    for n in ["64 handlers", "1,024 handlers"]:
        yield "P1", f"post, {n}: times the limit", "<=", 1.1, ratio(r.value(POST, n), r.value(LIMIT, n))
    for peer, where in [(SEND, "from a task"), (MAIN, "from the main actor")]:
        for n in ["1 handler", "8 handlers"]:
            yield "P3", f"await send {where}, {n}: ns over post", "<=", 3, less(r.value(peer, n), r.value(POST, n))


def instructions(r):
    for n, most in [("1 handler", 67), ("8 handlers", 230)]:
        yield "P2", f"post, {n}: instructions", "<=", most, r.value(POST, n)


def contention(r):
    for n in ["2 senders", "4 senders"]:
        for peer, verb in [(POST, "post"), (SEND, "await send")]:
            yield "P4", f"{verb}, {n}: ns", "<=", 50, r.value(peer, n)


def add_remove(r):
    for n in ["0 others", "1,000 others", "100,000 others"]:
        yield "P5", f"add and remove, {n}: ns", "<=", 65, r.value(POST, n)


def replace_random(r):
    yield "P5", "replace a random one of 100,000: ns", "<=", 500, r.value(POST, "100,000 handlers")


def add_by_priority(r):
    yield "P5", "add and remove in the middle of 1,000 by priority: ns", "<=", 1_000, r.value(POST, "1,000 others")


def mixed(r):
    figures = [("sends/s", "median", 4.5e6), ("pairs/s", "pairs_per_s", 2e6), ("worst round of the median", "worst_of_median", 2 / 3)]
    for peer, verb in [(POST, "post"), (SEND, "await send")]:
        for what, key, least in figures:
            yield "P6", f"{verb}: {what}", ">=", least, r.value(peer, "2 senders, 2 changers", key)


def once(r):
    yield "P7", "once and post: ns", "<=", 130, r.value(POST, "once and send")


def lanes(r):
    for row in r.of_peer(POST):
        if "concurrent" not in row["label"]:
            yield "P8", f"{row['label']}: ns a delivery", "<=", 55, row.get("median")


def latency(r):
    for n in r.parameters:
        dispatch = (r.row("Dispatch and tasks / DispatchQueue.async", n) or {}).get("median")
        for row in r.of_peer(POST):
            if row["parameter"] == n and (".queue" in row["label"] or ".background" in row["label"]):
                yield "P9", f"{row['label']}, {n}: p50, times DispatchQueue.async", "<=", 1.1, ratio(row.get("median"), dispatch)


def memory(r):
    for peer, verb in [(POST, "post"), (SEND, "await send"), (MAIN, "await send from the main actor")]:
        yield "P10", f"{verb}: allocations", "<=", 0, r.value(peer, "heap", "allocations_per_send")
    yield "P11", "bytes of an idle event", "<=", 160, r.value(POST, "heap", "event_bytes")
    yield "P11", "bytes of a handler", "<=", 116, r.value(POST, "heap", "handler_bytes")


def backlog(r):
    for label in r.labels:
        few, many = r.row(label, "1,000 items"), r.row(label, "1,000,000 items")
        if few and many and few["peer"] == POST:
            yield "P12", f"{label}: an item of 1,000,000 by one of 1,000", "<=", 1.3, ratio(many.get("median"), few.get("median"))


def flood(r):
    for n in r.parameters:
        yield "P13", f"{n}: peak queue", "<=", 3_000, r.value(POST, n, "peak_queue")
        if n in ["1 thread", "2 threads"]:
            yield "P13", f"{n}: ns a post until all is delivered", "<=", 100, r.value(POST, n)
        yield "P13", f"{n}: worst isolated call, ms", "<=", 20, r.value(POST, n, "worst_isolated_ms")


CHECKS = {
    check.__name__.replace("_", "-"): check
    for check in [
        sending, instructions, contention, add_remove, replace_random, add_by_priority, mixed, once, lanes, latency, memory, backlog, flood]
}


def table(measured):
    """The rows of the budget that were measured, in the order of their numbers."""
    rows = sorted(lines(measured), key=lambda line: int(line[0][1:]))
    for name, what, relation, limit, figure in rows:
        if figure is None:
            continue
        met = figure <= limit if relation == "<=" else figure >= limit
        yield [name, what, f"{'at most' if relation == '<=' else 'at least'} {precise(limit)}", precise(figure), "yes" if met else "NO"]


def precise(figure):
    return f"{figure:.2f}".removeprefix("-") if abs(figure) < 0.005 else f"{figure:.2f}" if abs(figure) < 10 else short(figure)
