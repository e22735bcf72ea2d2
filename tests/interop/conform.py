#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""conform.py - the conformance suite against the kernel's soft-RoCE device, whose deviations
stand in tests/sim/scenario/expect/rxe-VERSION: others are failures.

usage: conform.py [--in FOLDER] [OPTION OR SCENARIO OF rocin conform...]

With --markdown=FILE it writes the report for the people who make the device.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing is written beside the sources
import vm

SUITE = os.path.join(os.path.dirname(vm.HERE), 'sim', 'scenario')


def start_agent(machine, binaries):
    shutil.copy(os.path.join(binaries, '..', 'lib', 'rocin', 'rocin-conform-agent'),
                os.path.join(machine.folder, 'agent'))
    said = machine.must('cd /tmp; pkill -x agent; setsid /run/exchange/agent -d rxe0 -g 1 >agent.log 2>&1 &\n'
                        'for i in {1..300}; do grep listening /tmp/agent.log && exit 0; sleep 0.2; done; '
                        'cat /tmp/agent.log; exit 1', 120)
    assert 'listening' in said, said


def conform(machine, binaries, words):
    profile = 'rxe-' + re.match(r'\d+\.\d+', machine.release).group(0)
    known = ['--expect=' + profile] if os.path.exists(f'{SUITE}/expect/{profile}') else []
    known = [option.replace('=', f'={SUITE}/expect/') for option in known]
    addresses = [f'--address={a}' for a in (vm.HOST, vm.OTHER, vm.HOST6, vm.OTHER6)]
    # A call in the emulated machine takes its time, but not as long as one that hangs, 40 s.
    command = [os.path.join(binaries, 'rocin'), 'conform', f'--target={vm.GUEST}', *addresses,
               '--call-timeout=20000', '--progress', *known, *words]
    if not any(os.path.exists(word) for word in words):
        command.append(SUITE)
    return subprocess.run(command, check=False).returncode


def main(words):
    binaries = os.environ['ROCIN_BIN']
    if words[:1] == ['--in']:
        machine, words = vm.Running(words[1]), words[2:]
    else:
        vm.in_own_network()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        machine = vm.Vm(limit_s=5000)
    with machine:
        start_agent(machine, binaries)
        return conform(machine, binaries, words)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
