"""Writes the newest results into RESULTS.md, and five rows and a plot into the library's README."""
import contextlib
import io
import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

import plots
import results_tables
from results import read, short
from running import PACKAGE

# The table in the library's README. A row is: title, workload, parameter, labels for the columns.
COLUMNS = ["swift-eventing", "C++ boost::signals2", "OpenCombine", "NotificationCenter", "a locked dictionary"]
INLINE = ["Eventing post", "C++ boost::signals2", "OpenCombine PassthroughSubject", "NotificationCenter userInfo", "naive lock and dictionary"]
ELSEWHERE = [
    "Eventing post / async", None, "OpenCombine PassthroughSubject / for await buffer().values",
    "NotificationCenter AsyncMessage / for await messages(of:)", None]
ROWS = [
    ("a send to 1 handler", "sending", "1 handler", INLINE),
    ("a send to 64 handlers", "sending", "64 handlers", INLINE),
    ("a send, while 4 threads send to 8 handlers", "contention", "4 senders", INLINE),
    ("an add and its remove, beside 1,000 handlers", "add-remove", "1,000 others", INLINE),
    ("a delivery to an asynchronous handler, in order", "lanes", "one consumer", ELSEWHERE),
]
# The hand-written pages that explain the tables of a workload.
EXPLAINED = {"scale": "[What grows, and with what](FINDINGS.md#what-grows-and-with-what) explains the figures."}


def publish(folder, workloads):
    """Writes RESULTS.md, the plots, and the library's README. Exits if a result is missing."""
    measured = read(folder)
    missing = [name for name in workloads if name not in measured]
    missing += [f"{label}, {parameter}, of {workload}" for _, workload, parameter, labels in ROWS if workload in measured
                for label in labels if label and measured[workload].row(label, parameter) is None]
    if missing:
        raise SystemExit(f"expected in {folder} the results of ./benchmark, without options that narrow it down; nothing is changed. "
                         f"Missing: {'; '.join(missing)}")
    drawn = plots.draw(measured, folder)
    target = PACKAGE / "plots"
    target.mkdir(exist_ok=True)
    for path in drawn:
        shutil.copy(path, target / path.name)
    day, machine = about(folder)
    beneath = {name: [link] for name, link in EXPLAINED.items()}
    for path in drawn:
        beneath.setdefault(path.stem, []).append(f"![{path.stem}](plots/{path.name})")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(f"Measured on {day} on the machine of this run: {machine}. The figures are medians, and hold for that machine.\n")
        print(" · ".join(f"[{name}](#{name})" for name in measured) + " · [the budget](#the-budget)\n")
        results_tables.render(folder, beneath=beneath)
    put(PACKAGE / "RESULTS.md", "tables", text.getvalue())
    put(PACKAGE.parent / "README.md", "speed", five_rows(measured, folder))


def five_rows(measured, folder):
    """Returns the table and the plot of the library's README."""
    lines = ["| nanoseconds for | " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for what, workload, parameter, labels in ROWS:
        figures = []
        for label in labels:
            row = measured[workload].row(label, parameter) if workload in measured and label else None
            figures.append(short(row["median"]) if row and row["status"] == "ok" else "")
        figures[0] = f"**{figures[0]}**"
        lines.append(f"| {what} | " + " | ".join(figures) + " |")
    plot = "![Nanoseconds a send over the number of handlers, for each library](Benchmarks/plots/sending.svg)"
    day, machine = about(folder)
    return "\n".join(lines) + f"\n\n({day}, {machine}; medians.)\n\n{plot}\n"


def about(folder):
    """Returns the day of the newest result, and a description of this machine."""
    day = time.strftime("%Y-%m-%d", time.gmtime(max(path.stat().st_mtime for path in folder.glob("*.json"))))
    version = subprocess.run(["swift", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    swift = re.search(r"Swift version ([\d.]+)", version)
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        cpu = model[1] if model else cpu
    virtual = " of a virtual machine" if "hypervisor" in (Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else "") else ""
    return day, f"{os.cpu_count()} cores{virtual}, {cpu}, {platform.system()}, Swift {swift[1] if swift else '?'}"


def put(path, mark, text):
    """Replaces the text between two comments of a page."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"expected {begin.strip()} and {end} in {path}")
    path.write_text(before + begin + text.rstrip() + "\n" + end + after)
