# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest_rocin - a plugin of pytest that offers simulated RDMA devices to tests.

With `pytest --rocin', each test with the fixture `rocin' has two addresses of its own. It can start
programs that use devices with these addresses, and set fault rules. If it fails, the report has the
last packets. README.md in this directory has examples.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

INSIDE = "PYTEST_ROCIN_INSIDE"  # environment variable: pytest was started under `rocin run'
PACKETS_SHOWN = 40  # maximum number of packets in the report of a failed test
WAIT = 300  # seconds to wait until a program listens; even a busy machine needs less

_numbers = iter(range(1, 1 << 14))


def pytest_addoption(parser):
    group = parser.getgroup("rocin", "RDMA devices made of software")
    group.addoption("--rocin", action="store_true", help="run tests with devices of Rocin")
    group.addoption("--rocin-captures", metavar="DIR", help="keep the packets of tests that fail in DIR")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Executes pytest again under `rocin run': the environment in which libibverbs finds a device must
    be set before the program starts."""
    if not config.option.rocin or os.environ.get(INSIDE) or config.option.help or config.option.version:
        return
    program = shutil.which("rocin")
    if not program:
        raise pytest.UsageError("--rocin: there is no program rocin in the path; install Rocin's package, or "
                                "put bin of its build directory there")
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.stop_global_capturing()
    sys.stdout.flush()
    env = dict(os.environ, **{INSIDE: "1"})
    arguments = list(config.invocation_params.args)
    os.execve(program, [program, "run", "--", sys.executable, "-m", "pytest", *map(str, arguments)], env)


def _address(number):
    """Returns an address that no other test of this machine uses: it contains the process id."""
    pid = os.getpid()
    return f"127.{64 + pid // 256 % 64}.{pid % 256}.{number}"


def _is_listening(port):
    """Returns whether a process listens on this TCP port. Reads this from /proc/net, because a test
    connection would disturb the program."""
    for table in ("tcp", "tcp6"):
        try:
            lines = pathlib.Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] == "0A" and int(words[1].rsplit(":", 1)[1], 16) == port:
                return True
    return False


class Rocin:
    """The devices of one test. Public members: addresses, run(), start(), env(), faults(), packets()."""

    def __init__(self, folder):
        self.addresses = tuple(_address(n) for n in (next(_numbers) % 254 + 1, next(_numbers) % 254 + 1))
        self._folder = folder
        self._started = []
        self._faults = None
        self._count = 0

    def faults(self, spec):
        """Sets the fault rules (option --fault of `rocin run') of programs that are started later.
        None: no fault rules."""
        self._faults = spec

    def _words(self, netdev, options):
        self._count += 1
        words = ["rocin", "run", "--netdev", netdev or f"lo:{self.addresses[0]}",
                 "--pcap", str(self._folder / f"{self._count}-%p.pcap")]
        if self._faults:
            words += ["--fault", self._faults]
        return [*words, *options]

    def env(self, netdev=None, options=()):
        """Returns an environment in which a program finds the device. For tests that start programs
        without start() and run()."""
        words = self._words(netdev, options)
        words[1:2] = ["env", "--format=file"]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return dict(os.environ, **dict(line.split("=", 1) for line in text.splitlines()))

    def start(self, *command, netdev=None, options=(), listens=None, **popen):
        """Starts a program that finds the device. It is killed at the end of the test. Returns a
        subprocess.Popen.

        listens: a TCP port. The function returns when a process listens on this port.
        """
        popen.setdefault("text", True)
        child = subprocess.Popen([*self._words(netdev, options), "--", *map(str, command)],
                                 start_new_session=True, **popen)
        self._started.append(child)
        end = time.monotonic() + WAIT
        while listens and not _is_listening(listens):
            if child.poll() is not None:
                raise AssertionError(f"{command[0]} ended with status {child.returncode} before it listened")
            if time.monotonic() > end:
                raise AssertionError(f"{command[0]} does not listen at port {listens}")
            time.sleep(0.02)
        return child

    def run(self, *command, netdev=None, options=(), check=True, timeout=None, **popen):
        """Runs a program that finds the device, and waits for its end. Returns a
        subprocess.CompletedProcess.

        An exit status other than 0 fails the test with the output of the program, unless check is false.
        """
        for stream in ("stdout", "stderr"):
            popen.setdefault(stream, subprocess.PIPE)
        child = self.start(*command, netdev=netdev, options=options, **popen)
        out, err = child.communicate(timeout=timeout)
        if check and child.returncode:
            raise AssertionError(f"{' '.join(map(str, command))} ended with status {child.returncode}\n{out or ''}{err or ''}")
        return subprocess.CompletedProcess(command, child.returncode, out, err)

    def packets(self):
        """Returns the packets that the programs of this test have sent and received, as lines of text,
        those of one capture file after those of another."""
        lines = []
        for file in self.captures():
            done = subprocess.run(["rocin", "dump", str(file)], capture_output=True, text=True, check=False)
            lines += done.stdout.splitlines()
        return lines

    def captures(self):
        return sorted(self._folder.glob("*.pcap"))

    def end(self):
        """Kills all programs that were started, with their child processes."""
        for child in self._started:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()


@pytest.fixture(scope="session")
def rocin_folder():
    """Creates a directory for the sockets of rocind and the captures of all tests of this run."""
    folder = tempfile.mkdtemp(prefix="rocin-")
    before = os.environ.get("ROCIN_RUNTIME_DIR")
    os.environ["ROCIN_RUNTIME_DIR"] = os.path.join(folder, "run")
    yield pathlib.Path(folder)
    subprocess.run(["rocin", "stop"], capture_output=True, check=False)
    if before is None:
        del os.environ["ROCIN_RUNTIME_DIR"]
    else:
        os.environ["ROCIN_RUNTIME_DIR"] = before
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def rocin(request):
    """The devices of this test (class Rocin)."""
    if not request.config.option.rocin:
        pytest.skip("devices of Rocin: start pytest with --rocin")
    folder = request.getfixturevalue("rocin_folder") / f"test-{next(_numbers)}"
    folder.mkdir()
    devices = Rocin(folder)
    request.node.rocin = devices
    yield devices
    devices.end()


def _keep(config, item, devices):
    """Copies the captures of a test to the directory of --rocin-captures. Returns a line for the report."""
    wanted = config.option.rocin_captures
    if not wanted or not devices.captures():
        return ""
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in item.nodeid)
    target = pathlib.Path(wanted, name)
    target.mkdir(parents=True, exist_ok=True)
    for file in devices.captures():
        shutil.copy(file, target)
    return f"all packets: {target}\n"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    devices = getattr(item, "rocin", None)
    if report.when != "call" or not report.failed or not devices:
        return
    devices.end()  # a program that still runs may not have written all packets
    lines = devices.packets()
    if not lines:
        return
    text = _keep(item.config, item, devices) + "\n".join(lines[-PACKETS_SHOWN:])
    report.sections.append((f"last {min(len(lines), PACKETS_SHOWN)} of {len(lines)} packets", text))


def free_port():
    """Returns a TCP port on which no process listens now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
