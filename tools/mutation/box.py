# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""box - runs a test in an environment of its own (a box), so that tests do not disturb each other.

Each run has its own network, process ids, /tmp, and files that select the mutant. All processes that
it has started are killed at its end. If the system permits no namespaces, only one test runs at a
time.
"""
import os
import signal
import subprocess
import time

SCRIPT = r"""
set -e
root=$1 chosen=$2 reached=$3 mine=$4
shift 4
mount --bind "$mine/mutant" "$chosen"
mount --bind "$mine/reached" "$reached"
exec 9<"$root"
mount -t tmpfs none /tmp
# Without the option, mount would look for the name behind the descriptor, in the new /tmp; and the two
# files above are mounts themselves.
case $root in /tmp/*) mkdir -p "$root" && mount --no-canonicalize --rbind /proc/self/fd/9 "$root" ;; esac
exec 9<&-
mount -t tmpfs none /dev/shm
mkdir -p /run/netns && mount -t tmpfs none /run/netns
ip link set lo up
cd "$1"
shift
# What is first here reaps what the test leaves. bash makes an exec of the last command, so
# the test is not that one.
status=0
"$@" || status=$?
exit "$status"
"""
SPACES = ["--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL"]
# Prefixes of environment variables that are removed, because settings of the user must not affect tests.
SETTINGS = ("ROCIN_", "RDMAV_", "LD_PRELOAD")


def how():
    """Returns the command line that starts a program in new namespaces, or [] if that is not permitted."""
    for words in (["unshare", *SPACES], ["unshare", "--map-root-user", *SPACES]):
        try:
            if subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True,
                              check=False).returncode == 0:
                return words
        except FileNotFoundError:
            pass
    return []


class Box:
    """An environment for one test at a time. Several boxes can run tests at the same time."""

    def __init__(self, place, name, words):
        self.place, self.words = place, words
        self.mine = place.top / f"box-{name}" if words else place.top
        self.mine.mkdir(exist_ok=True)
        self.log = place.top / f"output-{name}.log"

    def run(self, test, number, limit, reached_size=0):
        """Runs a test with mutant number. Returns (result: passed, skipped, failed, died or hung; duration
        in seconds; set of the mutants that it has reached)."""
        (self.mine / "mutant").write_text(f"{number}\n")
        (self.mine / "reached").write_bytes(bytes(reached_size))
        env = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        env.update(test.env)
        env["RN_WHOLE"] = str(self.place.root)  # real source tree, for tests that apply patches to it
        command = test.command
        if self.words:
            command = [*self.words, "bash", "-c", SCRIPT, "box", str(self.place.root), str(self.place.chosen),
                       str(self.place.reached), str(self.mine), test.folder, *command]
        start = time.monotonic()
        with open(self.log, "wb") as log:
            child = subprocess.Popen(command, cwd=test.folder, env=env, stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = child.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                self.end(child)
        reached = {n for n, byte in enumerate((self.mine / "reached").read_bytes()) if byte}
        return verdict(code, test.skip), time.monotonic() - start, reached

    @staticmethod
    def end(child):
        """Kills the test and all processes that it has started: its process group and, if it runs in
        namespaces, its PID namespace."""
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()


def verdict(code, skip):
    if code is None:
        return "hung"
    if code == 0:
        return "passed"
    if code == skip:
        return "skipped"
    return "died" if code < 0 or code in (134, 135, 136, 139) else "failed"
