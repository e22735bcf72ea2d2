#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""activation - what a service manager does with rocind.socket and rocind.service.

usage: activation [--pass KIND] SOCKET PROGRAM [ARGUMENT...]

Listens at SOCKET and starts PROGRAM whenever somebody connects and none runs, with the
socket as descriptor 3; prints "listening" when it does, and a line for each start and
each end. It ends with a PROGRAM that fails, and ends PROGRAM when it is ended. --pass
passes something else at once: stream, two, or other (for another process).
"""
import os
import select
import signal
import socket
import sys

arguments = sys.argv[1:]
kind = ""
if arguments[0] == "--pass":
    kind, arguments = arguments[1], arguments[2:]
path, program = arguments[0], arguments[1:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if kind == "stream" else socket.SOCK_SEQPACKET)
listener.bind(path)
listener.listen(64)
running = 0


def start():
    pid = os.fork()
    if pid:
        return pid
    # Through another number, so that descriptor 3 is inherited whatever it was before.
    high = os.dup(listener.fileno())
    for fd in (3, 4):
        os.dup2(high, fd, inheritable=True)
    os.environ["LISTEN_PID"] = "1" if kind == "other" else str(os.getpid())
    os.environ["LISTEN_FDS"] = "2" if kind == "two" else "1"
    os.execvp(program[0], program)


def end(*_):
    if running:
        os.kill(running, signal.SIGTERM)
        os.waitpid(running, 0)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
print("listening", flush=True)
while True:
    if not kind:
        select.select([listener], [], [])
    running = start()
    print("start", running, flush=True)
    _, status = os.waitpid(running, 0)
    running = 0
    print("end", os.waitstatus_to_exitcode(status), flush=True)
    if status or kind:
        sys.exit(os.waitstatus_to_exitcode(status))
