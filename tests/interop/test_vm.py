#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_vm.py - the virtual machine of vm.py: commands and their ends, the network between host
and guest, and that QEMU does not outlive whoever started it, killed or not."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is written beside the sources
import vm


def is_running(name):
    """Is there a process with this in its command line?"""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                if b'qemu-system' in (line := f.read()) and name.encode() in line:
                    return True
        except OSError:
            continue
    return False


def check_commands(commands):
    assert commands.run('echo a; echo b >&2; exit 3') == (3, 'a\nb\n')
    began = time.monotonic()
    status, said = commands.run('echo begun; sleep 600', 5)
    assert (status, said) == (124, 'begun\n'), (status, said)
    assert time.monotonic() - began < 60
    # What an ended command left behind does not answer for the next one.
    assert commands.run('cat /sys/class/infiniband/rxe0/ports/1/state') == (0, '4: ACTIVE\n')
    assert commands.run('nonsense')[0] == 127


def check_network(folder):
    """Nobody listens on port 9 of the guest, and it says so."""
    for address in vm.GUEST, vm.GUEST6:
        knock = f'exec 3<>/dev/tcp/{address}/9'
        done = subprocess.run([sys.executable, vm.__file__, 'host', folder, knock],
                              check=False, capture_output=True, text=True, timeout=120)
        assert 'Connection refused' in done.stderr, done.stderr


def main():
    with tempfile.TemporaryDirectory(prefix='rocin-vm-') as folder:
        machine = subprocess.Popen([sys.executable, vm.__file__, 'up', folder],
                                   stdout=subprocess.PIPE, text=True)
        try:
            assert machine.stdout.readline().startswith('ready, Linux ')
            check_commands(vm.Commands(folder))
            check_network(folder)
            with open(os.path.join(folder, 'gift'), 'w', encoding='ascii') as gift:
                gift.write('from the host')
            assert vm.Commands(folder).run('cat /run/exchange/gift')[1] == 'from the host'
            assert is_running(folder)
        finally:
            machine.send_signal(signal.SIGKILL)
            machine.wait()
        end = time.monotonic() + 60
        while is_running(folder) and time.monotonic() < end:
            time.sleep(0.1)
        assert not is_running(folder)


if __name__ == '__main__':
    main()
