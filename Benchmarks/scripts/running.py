"""Builds the benchmarks. Runs a workload, under the tool that the workload needs."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
SCRATCH = PACKAGE / os.environ.get("SCRATCH", ".build")
# The scratch folder is ignored by git.
RESULTS = Path(os.environ.get("OUT", SCRATCH / "results"))


class NotMeasured(Exception):
    """This machine cannot measure the workload; the message says why."""


class Failed(Exception):
    """The program failed; the message is its output."""


def build():
    """Builds the program and returns its path.

    Environment variables: SCRATCH (.build), JOBS (all cores), EVENTING_PATH (..)
    """
    command = ["swift", "build", "-c", "release", "--scratch-path", str(SCRATCH)]
    if "JOBS" in os.environ:
        command += ["-j", os.environ["JOBS"]]
    built = subprocess.run(command, cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode != 0:
        sys.exit(built.stdout + "The build failed.")
    shown = subprocess.run(command + ["--show-bin-path"], cwd=PACKAGE, stdout=subprocess.PIPE, text=True, check=True)
    return PACKAGE / shown.stdout.strip() / "event-benchmarks"


def workloads(program, arguments):
    """Returns the workloads that the arguments name, or all. Exits if the program rejects them."""
    named = subprocess.run([program, "--workloads", *arguments], stdout=subprocess.PIPE, text=True)
    if named.returncode != 0:
        sys.exit(named.returncode)
    return named.stdout.split()


def measure(program, workload, options, out):
    """Runs a workload. Writes <workload>.json and its output, <workload>.txt. Returns the JSON."""
    out.mkdir(parents=True, exist_ok=True)
    json = out / f"{workload}.json"
    json.unlink(missing_ok=True)
    command, environment = [str(program)], dict(os.environ)
    arguments = [workload, *options, "--json", str(json)]
    if workload == "memory":
        environment["LD_PRELOAD"] = str(allocation_counter(program))
    if workload == "instructions":
        dump = out.resolve() / "callgrind"
        for old in out.glob("callgrind*"):
            old.unlink()
        command = [*callgrind(dump), str(without_debug_information(program))]
        arguments += ["--callgrind-output", str(dump)]
    printed = out / f"{workload}.txt"
    with open(printed, "w") as log:
        status = subprocess.run(command + arguments, env=environment, stdout=log, stderr=subprocess.STDOUT).returncode
    if status != 0:
        raise Failed(f"{printed.read_text()}ended with status {status}")
    for dump in out.glob("callgrind*"):
        dump.unlink()
    return json


def allocation_counter(program):
    """Returns the path of the library to preload."""
    library = program.parent / "libAllocationCounter.so"
    if not sys.platform.startswith("linux") or not library.exists():
        raise NotMeasured("allocations are counted on Linux with the GNU C library only")
    return library


def callgrind(dump):
    """Returns the command that runs a program under callgrind."""
    if shutil.which("valgrind") is None:
        raise NotMeasured("valgrind is not installed, so instructions are not counted")
    return ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={dump}"]


def without_debug_information(program):
    """Returns a copy without Swift's debug information, which old valgrinds cannot read."""
    objcopy = shutil.which("objcopy") or shutil.which("llvm-objcopy")
    if objcopy is None:
        return program
    copy = program.with_name(program.name + "-without-debug-information")
    subprocess.run([objcopy, "--strip-debug", program, copy], check=True)
    return copy
