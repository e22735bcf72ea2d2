#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""activation - a service manager that handles rocind.socket and rocind.service as systemd does.

usage: activation [--pass KIND] SOCKET PROGRAM [ARGUMENT...]

Listens at SOCKET, and prints "listening". When a client connects and PROGRAM does not run, starts
PROGRAM with the socket as descriptor 3. Prints a line for each start and each end of PROGRAM. If
PROGRAM fails, this program ends, too. If this program is ended, it ends PROGRAM. With --pass,
PROGRAM is started at once, with something else than a manager would pass: KIND is stream, two (two
descriptors), or other (the variables name another process).
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
    # The descriptor may already be 3. dup2() would then not make it inheritable, so it is copied to
    # another number first.
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
