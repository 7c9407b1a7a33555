"""Draws the workloads `sending`, `contention` and `latency` as SVG. Needs matplotlib.

matplotlib comes from PyPI, or from the system's packages.
"""
from math import log10

OURS, OURS_TOO, FLOOR = "#0b62d6", "#5aa0f2", "#8a8a8a"
OTHERS = ["#c2410c", "#15803d", "#a21caf", "#a16207", "#0f766e", "#be123c", "#4d7c0f"]

# The ids of the peers in a plot. Peers that were not measured are left out.
SENDING = [
    "eventing-post", "eventing-send", "loop-borrowing", "boost", "opencombine", "naive-lock", "naive-actor", "notification-userinfo",
    "asyncstream"]
CONTENTION = ["eventing-post", "eventing-send", "boost", "opencombine", "naive-lock", "naive-actor", "notification-userinfo"]


class NoMatplotlib(Exception):
    """matplotlib is not installed."""


def draw(measured, folder):
    """Draws a plot for each of the three workloads that was measured, and returns the paths."""
    try:
        import matplotlib
    except ImportError:
        raise NoMatplotlib("no plots: matplotlib is not installed (pip install matplotlib)") from None
    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "eventing", "font.family": "sans-serif", "font.size": 10, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "grid.color": "#e5e5e5", "axes.axisbelow": True})
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter
    plain = FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e6 else f"{value / 1e6:g} M")
    paths = []
    for name, plot in [("sending", sending), ("contention", contention), ("latency", latency)]:
        if name not in measured:
            continue
        figure = plot(pyplot, measured[name])
        for axes in figure.axes:
            axes.minorticks_off()
            for axis in [axes.xaxis] if name == "latency" else [axes.xaxis, axes.yaxis]:
                axis.set_major_formatter(plain)
        path = folder / f"{name}.svg"
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
        paths.append(path)
    return paths


def sending(pyplot, results):
    figure, axes = pyplot.subplots(figsize=(8, 4.6))
    ends = curves(axes, results, SENDING, lambda ns: ns)
    axes.set(xscale="log", yscale="log", xlabel="inline handlers", ylabel="ns a send", title="One sender, an idle event", xticks=counts(results))
    names(axes, ends)
    return figure


def contention(pyplot, results):
    figure, axes = pyplot.subplots(figsize=(8, 4.6))
    ends = curves(axes, results, CONTENTION, lambda ns: 1e3 / ns)
    axes.set(
        yscale="log", xlabel="threads or tasks that send to one event with 8 handlers", ylabel="million sends a second, all delivered",
        title="Several senders, one event", xticks=counts(results), yticks=[0.3, 1, 3, 10, 30, 100])
    names(axes, ends)
    return figure


def counts(results):
    """Returns the numbers at the beginning of the parameters, such as 1024 for "1,024 handlers"."""
    return [int(parameter.split()[0].replace(",", "")) for parameter in results.parameters]


def curves(axes, results, peers, value):
    """Plots a line per peer over the numbers in the parameters. Returns the ends of the lines."""
    others, ends = iter(OTHERS), []
    for peer in peers:
        points = [(n, value(ns)) for n, p in zip(counts(results), results.parameters) if (ns := results.value(peer, p)) is not None]
        if not points:
            continue
        label = results.of_peer(peer)[0]["label"]
        ours, floor = peer.startswith("eventing"), label.startswith("LIMIT")
        color = (OURS if peer == "eventing-post" else OURS_TOO) if ours else FLOOR if floor else next(others)
        axes.plot(*zip(*points), color=color, marker="o", markersize=4, linewidth=2.5 if ours else 1.5, linestyle="--" if floor else "-")
        ends.append((points[-1], label, color, ours))
    return ends


def names(axes, ends):
    """Writes the names of the lines in the order of their ends, far enough apart to be read."""
    ends.sort(key=lambda end: end[0][1])
    height, at = 1 / 19, 0
    low, high = axes.get_ylim()
    for (x, y), label, color, ours in ends:
        at = max(at, (log10(y) - log10(low)) / (log10(high) - log10(low)))
        axes.annotate(
            label, xy=(1, at), xycoords="axes fraction", xytext=(8, 0), textcoords="offset points", va="center", color=color,
            weight="bold" if ours else "normal", annotation_clip=False)
        at += height


def latency(pyplot, results):
    figure, all_axes = pyplot.subplots(1, len(results.parameters), figsize=(11, 5), sharey=True, squeeze=False)
    rows = [row for row in results.rows if row["parameter"] == results.parameters[0] and row["status"] == "ok"]
    rows = [row for row in rows if not row["label"].endswith("/ await send")]  # runs no handler elsewhere
    rows.sort(key=lambda row: -row["median"])
    for axes, parameter in zip(all_axes[0], results.parameters):
        for place, first in enumerate(rows):
            row = results.row(first["label"], parameter)
            if row is None or row["status"] != "ok":
                continue
            color = OURS if row["kind"] == "subject" else FLOOR if row["kind"] == "limit" else OTHERS[0]
            low, middle, high, top = (figure_ / 1e3 for figure_ in (row["extra"]["p10"], row["median"], row["extra"]["p99"], row["extra"]["p99_9"]))
            axes.plot([low, high], [place, place], color=color, linewidth=3, alpha=0.45, solid_capstyle="round")
            axes.plot([high, top], [place, place], color=color, linewidth=1, alpha=0.45)
            axes.plot([middle], [place], "o", color=color, markersize=6)
        axes.set(xscale="log", xlabel="µs: 10 % to 99 %, a dot at 50 %, a thin line to 99.9 %", title=f"Latency, the sender {parameter}")
        axes.set_xticks([1, 10, 100, 1_000, 10_000])
        axes.set_yticks(range(len(rows)), [row["label"] for row in rows], fontsize=8)
    return figure
