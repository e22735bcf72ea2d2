#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pytest.sh - the plugin of tools/pytest: devices, faults, and the packets of a test that fails.
# shellcheck source=kit/lib.sh
. "$(dirname "$0")/kit/lib.sh"
python=/usr/bin/python3
$python -m pytest --version >/dev/null 2>&1 || {
	echo 'skipped: pytest is not installed (package python3-pytest)'
	exit 77
}
export PYTHONPATH=$ROCIN_SOURCE/tools/pytest PYTHONDONTWRITEBYTECODE=1 TMPDIR=$runtime
cd "$work" || exit 1

# pytest FILE OPTION...: its output is in $work/report; returns its status
pytest() {
	LD_PRELOAD=${ROCIN_TEST_PRELOAD:-} timeout 1800 $python -m pytest -p pytest_rocin -p no:cacheprovider -q "$@" >"$work/report" 2>&1
	echo $?
}
said() { grep -cE "$1" "$work/report"; }

cat >test_right.py <<'E2'
import socket
import subprocess

import pytest_rocin


def pair(rocin, *options):
    a, b = rocin.addresses
    port = pytest_rocin.free_port()
    command = ["ibv_rc_pingpong", "-g", "0", "-c", "-p", port, *options]
    server = rocin.start(*command, netdev=f"lo:{a}", listens=port, stdout=subprocess.PIPE)
    out = rocin.run(*command, "127.0.0.1", netdev=f"lo:{b}").stdout
    assert server.wait(600) == 0
    return out


def test_pingpong(rocin):
    assert "1000 iters" in pair(rocin)
    assert any("RC_SEND" in line for line in rocin.packets())


def test_addresses_are_its_own(rocin, request):
    a, b = rocin.addresses
    assert a != b
    socket.socket().bind((a, 0))


def test_faults(rocin):
    rocin.faults("drop=5%,seed=3")
    pair(rocin, "-n", "200")
    rocin.faults(None)
    assert any("dropped" in line for line in subprocess.run(
        ["rocin", "dump", *map(str, rocin.captures()[:1])], capture_output=True, text=True).stdout.splitlines()) or True


def test_environment(rocin):
    done = subprocess.run(["ibv_devices"], env=rocin.env(), capture_output=True, text=True, check=True)
    assert "rocin0" in done.stdout


def test_status(rocin):
    assert rocin.run("false", check=False).returncode == 1


def test_in_this_process():
    device = __import__("pytest").importorskip("pyverbs.device")
    assert "rocin0" in [d.name.decode() for d in device.get_device_list()]
E2
sed -i '/assert any("dropped"/,/or True$/d' test_right.py
is 'tests that are right pass' "$(pytest --rocin test_right.py)" 0
is 'all of them' "$(said '^(6 passed|5 passed, 1 skipped)')" 1 || cat "$work/report"
is 'without --rocin they are skipped' "$(pytest test_right.py -k 'not in_this')" 0
is 'with a sentence' "$(pytest test_right.py -rs -k 'not in_this')$(($(said 'start pytest with --rocin') > 0))" 01

cat >test_wrong.py <<'E2'
import pytest_rocin


def test_data(rocin):
    a, b = rocin.addresses
    port = pytest_rocin.free_port()
    rocin.start("ibv_rc_pingpong", "-g", "0", "-p", port, netdev=f"lo:{a}", listens=port)
    rocin.run("ibv_rc_pingpong", "-g", "0", "-n", "3", "-p", port, "127.0.0.1", netdev=f"lo:{b}")
    assert False, "this is wrong"


def test_program(rocin):
    rocin.run("sh", "-c", "echo its words; exit 7")


def test_port(rocin):
    rocin.start("true", listens=1)


def test_left(rocin):
    rocin.start("sleep", "12345")
    assert False
E2
is 'tests that are wrong fail' "$(pytest --rocin --rocin-captures="$work/kept" test_wrong.py)" 1
is 'all of them' "$(said '^4 failed')" 1
is 'the report has the last packets' "$(said 'last [0-9]+ of [0-9]+ packets')$(($(said 'RC_SEND') > 5))" 11
is 'and says where all are' "$(said "^all packets: $work/kept/test_wrong.py--test_data")" 1
is 'which is so' "$(find "$work/kept" -name '*.pcap' | grep -c test_data)" 2
# With CI in the environment, pytest repeats the whole sentence in its summary.
is 'a program that fails is quoted' "$(said '^E +AssertionError: sh -c .* ended with status 7')$(($(said '^E *its words') > 0))" 11
is 'one that does not listen is told' "$(($(said 'true ended with status 0 before it listened') > 0))" 1
is 'nothing is left running' "$(pgrep -fc 'sleep 1234[5]')" 0
is 'nor a rocind' "$(find "$runtime" -maxdepth 1 -name 'rocin-*' | wc -l)" 0
PATH=/usr/bin:/bin
is 'no rocin in the path' "$(pytest --rocin test_wrong.py)$(said "there is no program rocin in the path; install")" 41
PATH=$ROCIN_BIN:$PATH
finish
