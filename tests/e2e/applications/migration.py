# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""migration.py DIRECTORY URI on|off - migrates a virtual machine.

Tells the QEMU whose QMP socket is DIRECTORY/here to move its machine to URI. on: all memory is
registered and pinned at the beginning; off: piece by piece. Then lets the QEMU at DIRECTORY/there
write 16 MiB of the machine's memory, from the address 16 MiB on, to DIRECTORY/there.ram."""
import json
import socket
import sys
import time


class Machine:
    """The QMP socket of a QEMU. Each command has one response; events before it are skipped."""

    def __init__(self, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        self.stream = connection.makefile("rw")
        self.stream.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        json.dump({"execute": command, "arguments": arguments}, self.stream)
        self.stream.flush()
        for line in self.stream:
            answer = json.loads(line)
            if "error" in answer:
                sys.exit(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        sys.exit(f"{command}: QEMU has ended")


def main():
    directory, uri, pinned = sys.argv[1:]
    here, there = (Machine(f"{directory}/{name}") for name in ("here", "there"))
    for machine in here, there:
        machine.ask("migrate-set-capabilities", capabilities=[
            {"capability": "rdma-pin-all", "state": pinned == "on"}])
    here.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 34})
    here.ask("migrate", uri=uri)
    while (state := here.ask("query-migrate")).get("status") not in ("completed", "failed"):
        time.sleep(0.05)
    if state["status"] != "completed":
        sys.exit(f"the migration failed: {state}")
    there.ask("pmemsave", val=0x1000000, size=16 << 20, filename=f"{directory}/there.ram")
    print(f"{state['ram']['transferred']} bytes in {state['total-time']} ms")


main()
