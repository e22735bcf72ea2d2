#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""vm.py - a virtual machine with Debian's kernel and its soft-RoCE device, rxe0, as a peer.

usage: vm.py build                    what the machine boots, in the cache
       vm.py up FOLDER [MTU]          boot it and keep it until interrupted
       vm.py run FOLDER [-t S] TEXT   a shell command in the guest; its status and output
       vm.py host FOLDER TEXT         a shell command at the other end of the network
       vm.py try [-t S] TEXT          boot, one command in the guest, end

QEMU emulates the processor, so nothing needs KVM; a boot takes 20 to 90 seconds. The guest's
root is the host's own file system, read-only below a tmpfs, so every program of the host is
there under its path; what both sides write is in FOLDER, /run/exchange in the guest.

The network is a tap device in a network namespace of its own, in which this program runs:

    host, 10.91.0.1 and .3, fd91::1 and ::3      guest, 10.91.0.2, fd91::2, device rxe0

Whatever happens to this program, QEMU ends with it; it also ends when its time is up.
Debian packages: qemu-system-x86 busybox-static kmod cpio iproute2 rdma-core.
ROCIN_VM_CACHE: where the kernel lies; ROCIN_VM_KERNEL: its package, if not Debian's usual.
"""
import base64
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get('ROCIN_VM_CACHE') or os.path.expanduser('~/.cache/rocin-vm')
# What the initramfs needs to reach the host's files: overlayfs, and 9p by virtio.
BOOT_MODULES = ['virtio_pci', 'virtio_console', '9p', '9pnet_virtio', 'overlay']
GUEST, HOST, OTHER = '10.91.0.2', '10.91.0.1', '10.91.0.3'
GUEST6, HOST6, OTHER6 = 'fd91::2', 'fd91::1', 'fd91::3'
TAP = 'tap0'
MTU = 4500  # room for a path MTU of 4096


class VmError(Exception):
    """The machine cannot be built or booted, or it is gone."""


def output_of(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise VmError(f'{" ".join(command)}: {done.stderr.strip() or done.returncode}')
    return done.stdout


# ---- what it boots
def kernel_package():
    wanted = os.environ.get('ROCIN_VM_KERNEL')
    if wanted:
        return wanted
    depends = output_of('apt-cache', 'depends', 'linux-image-amd64')
    found = re.search(r'Depends: (linux-image-\S+)', depends)
    if not found:
        raise VmError('apt knows no linux-image-amd64: apt-get update')
    return found.group(1)


class Image:
    """A kernel, its modules and an initramfs in the cache, made if they are not there."""

    def __init__(self):
        self.package = kernel_package()
        self.folder = os.path.join(CACHE, self.package)
        if not os.path.isdir(self.folder):
            self._unpack()
        self.release = os.listdir(os.path.join(self.folder, 'lib/modules'))[0]
        self.kernel = os.path.join(self.folder, 'boot', 'vmlinuz-' + self.release)
        self.modules = os.path.join(self.folder, 'lib/modules', self.release)

    def _unpack(self):
        os.makedirs(CACHE, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            output_of('apt-get', 'download', self.package, cwd=work)
            package = [name for name in os.listdir(work) if name.endswith('.deb')][0]
            root = os.path.join(work, 'root')
            output_of('dpkg-deb', '-x', os.path.join(work, package), root)
            release = os.listdir(os.path.join(root, 'lib/modules'))[0]
            output_of('depmod', '-b', root, release)
            os.rename(root, self.folder)

    def write_initramfs(self, path):
        with tempfile.TemporaryDirectory() as root:
            for name in 'bin', 'proc', 'sys', 'dev', 'modules':
                os.mkdir(os.path.join(root, name))
            busybox = shutil.which('busybox')
            if not busybox:
                raise VmError('no busybox: install busybox-static')
            shutil.copy(busybox, os.path.join(root, 'bin/busybox'))
            shutil.copy(os.path.join(HERE, 'guest-init.sh'), os.path.join(root, 'init'))
            os.chmod(os.path.join(root, 'init'), 0o755)
            with open(os.path.join(root, 'modules/list'), 'w', encoding='ascii') as names:
                for module in self._needed():
                    shutil.copy(module, os.path.join(root, 'modules'))
                    names.write(os.path.basename(module) + '\n')
            output_of('sh', '-c', f'find . | cpio -o -H newc >{path}', cwd=root)

    def _needed(self):
        """The files of the modules, each behind those that it needs."""
        files = []
        for module in BOOT_MODULES:
            shown = output_of('modprobe', '-S', self.release, '-d', self.folder,
                              '--show-depends', module)
            files += [line.split()[1] for line in shown.splitlines()
                      if line.startswith('insmod')]
        return dict.fromkeys(files)


# ---- the machine
def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def in_own_network():
    """Starts this program again in a network namespace of its own, once. What the machine
    boots is made before, because nothing can be downloaded there."""
    if os.environ.get('ROCIN_INTEROP_NETWORK') == str(os.getpid()):
        return
    Image()
    os.environ['ROCIN_INTEROP_NETWORK'] = str(os.getpid())
    as_root = [] if os.geteuid() == 0 else ['-r']
    os.execvp('unshare', ['unshare', '-n', *as_root, sys.executable, *sys.argv])


def make_network(mtu):
    for command in (['link', 'set', 'lo', 'up'],
                    ['tuntap', 'add', 'dev', TAP, 'mode', 'tap'],
                    ['link', 'set', TAP, 'mtu', str(mtu), 'up'],
                    *(['addr', 'add', a + '/24', 'dev', TAP] for a in (HOST, OTHER)),
                    *(['addr', 'add', a + '/64', 'dev', TAP, 'nodad'] for a in (HOST6, OTHER6))):
        output_of('ip', *command)


class Commands:
    """The port by which the guest takes commands."""

    def __init__(self, folder):
        self.port = socket.socket(socket.AF_UNIX)
        try:
            self.port.connect(os.path.join(folder, 'commands'))
        except OSError as error:
            raise VmError(f'{folder}: no machine runs there: {error}') from error
        self.lines = self.port.makefile('r', encoding='ascii', errors='replace')

    def line(self, seconds):
        self.port.settimeout(seconds)
        try:
            line = self.lines.readline()
        except OSError as error:
            raise VmError(f'the guest does not answer: {error}') from error
        if not line:
            raise VmError('the guest is gone')
        return line.split()

    def run(self, text, seconds=60):
        """Runs a shell command in the guest. Returns its status (124: killed) and output."""
        number = str(time.monotonic_ns())
        code = base64.b64encode(text.encode()).decode()
        self.port.sendall(f'{number} {int(seconds)} {code}\n'.encode())
        while True:
            answer = self.line(seconds + 60)
            if answer[0] == number:
                said = base64.b64decode(answer[2]) if len(answer) > 2 else b''
                return int(answer[1]), said.decode(errors='replace')


class Running:
    """A machine that `up' keeps; the caller is in its network: see `host'."""

    def __init__(self, folder):
        self.folder = folder
        self.commands = Commands(folder)
        self.release = self.must('uname -r').strip()

    def run(self, text, seconds=60):
        return self.commands.run(text, seconds)

    def must(self, text, seconds=60):
        status, said = self.run(text, seconds)
        if status:
            raise VmError(f'{text}: status {status}: {said}')
        return said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.commands.port.close()


class Vm(Running):
    """A machine that runs within `with'. The caller runs in_own_network() first."""

    # pylint: disable=super-init-not-called

    def __init__(self, folder=None, mtu=MTU, limit_s=1800, boot_s=300, quiet=True):
        self.own = None if folder else tempfile.TemporaryDirectory(prefix='rocin-vm-')
        self.folder = folder or self.own.name
        self.mtu, self.limit_s, self.boot_s, self.quiet = mtu, limit_s, boot_s, quiet
        self.qemu = self.commands = self.release = None

    def _arguments(self, image):
        at = self.folder
        return ['timeout', '-k', '5', str(self.limit_s), 'qemu-system-x86_64',
                '-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2',
                '-m', '1024', '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
                '-kernel', image.kernel, '-initrd', f'{at}/initramfs', '-append',
                'console=ttyS0 panic=-1 loglevel=5 mitigations=off -- '
                f'{HERE}/guest.sh {image.modules} {self.mtu}',
                '-chardev', f'file,id=console,path={at}/console', '-serial', 'chardev:console',
                '-device', 'virtio-serial-pci', '-device', 'virtio-rng-pci',
                '-chardev', f'socket,id=commands,path={at}/commands,server=on,wait=off',
                '-device', 'virtserialport,chardev=commands,name=commands',
                '-virtfs', 'local,path=/,mount_tag=host,security_model=none,readonly=on,'
                           'multidevs=remap',
                '-virtfs', f'local,path={at},mount_tag=exchange,security_model=none',
                '-netdev', f'tap,id=net0,ifname={TAP},script=no,downscript=no,vnet_hdr=off',
                '-device', f'virtio-net-pci,netdev=net0,mac=52:54:00:91:00:02,host_mtu={self.mtu}']

    def __enter__(self):
        try:
            image = Image()
            image.write_initramfs(os.path.join(self.folder, 'initramfs'))
            make_network(self.mtu)
            with open(os.path.join(self.folder, 'qemu'), 'wb') as said:
                self.qemu = subprocess.Popen(self._arguments(image), stdin=subprocess.DEVNULL,
                                             stdout=said, stderr=said,
                                             preexec_fn=die_with_parent)
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self):
        path = os.path.join(self.folder, 'commands')
        while not os.path.exists(path):
            if self.qemu.poll() is not None:
                raise VmError('QEMU ended: ' + self.last_words('qemu'))
            time.sleep(0.05)
        self.commands = Commands(self.folder)
        try:
            ready = self.commands.line(self.boot_s)
        except VmError as error:
            raise VmError(f'the guest did not boot: {error}\n' +
                          self.last_words('console')) from error
        if ready[:2] != ['ready', 'yes']:
            raise VmError('the guest has no rxe0:\n' + self.last_words('console'))
        self.release = ready[2]

    def last_words(self, name):
        try:
            with open(os.path.join(self.folder, name), errors='replace', encoding='utf-8') as f:
                return ''.join(f.readlines()[-25:])
        except OSError:
            return ''

    def __exit__(self, *_):
        if self.qemu and self.qemu.poll() is None:
            self.qemu.terminate()
            try:
                self.qemu.wait(10)
            except subprocess.TimeoutExpired:
                self.qemu.kill()
                self.qemu.wait()
        subprocess.run(['ip', 'link', 'del', TAP], stderr=subprocess.DEVNULL, check=False)
        if self.own:
            self.own.cleanup()


# ---- the commands
def up(folder, mtu):
    in_own_network()
    os.makedirs(folder, exist_ok=True)
    for old in 'commands', 'console':
        if os.path.exists(os.path.join(folder, old)):
            os.remove(os.path.join(folder, old))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(os.path.join(folder, 'pid'), 'w', encoding='ascii') as pid:
        pid.write(str(os.getpid()))
    with Vm(folder, mtu, limit_s=14400) as vm:
        vm.commands.port.close()  # for the others, who connect one at a time
        vm.commands.lines.close()
        print(f'ready, Linux {vm.release}', flush=True)
        vm.qemu.wait()
    return 0


def host(folder, text):
    with open(os.path.join(folder, 'pid'), encoding='ascii') as pid:
        os.execvp('nsenter', ['nsenter', '-n', '-t', pid.read(), 'bash', '-c', text])


def attempt(text, seconds):
    in_own_network()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Vm() as vm:
        status, said = vm.run(text, seconds)
    print(said, end='')
    return status


def main(arguments):
    seconds = 60
    if '-t' in arguments[:4]:
        at = arguments.index('-t')
        seconds = int(arguments[at + 1])
        del arguments[at:at + 2]
    match arguments:
        case ['build']:
            print(Image().folder)
            return 0
        case ['up', folder]:
            return up(os.path.abspath(folder), MTU)
        case ['up', folder, mtu]:
            return up(os.path.abspath(folder), int(mtu))
        case ['run', folder, text]:
            status, said = Commands(folder).run(text, seconds)
            print(said, end='')
            return status
        case ['host', folder, text]:
            return host(folder, text)
        case ['try', text]:
            return attempt(text, seconds)
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except VmError as error:
        print(f'vm.py: {error}', file=sys.stderr)
        sys.exit(125)
