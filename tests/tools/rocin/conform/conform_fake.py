#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""conform_fake.py - `rocin conform --target' and an agent that is none: one that hangs, dies,
lies or talks nonsense costs the scenario in which it does so, and the run goes on; what fails
is grouped, known deviations are expected, and the reports are well formed.

usage: conform_fake.py ROCIN FOLDER SOURCE
"""
import fnmatch
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import xml.etree.ElementTree as xml

VERSION = 4
SCENARIO = '# {rule}: {title}\nsetup rc0\nmr o len 64 access all\n\n{lines}end quiet\n'
BIND = 'the call failed with errno'


class Agent:
    """Answers as a device without packets would; `act' may answer something else for a word:
    a line, or None for nothing at all, or 'die' to end the connection."""

    def __init__(self, act=None):
        self.act = act or (lambda word, n: word)
        self.connections = 0
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection, self.connections),
                             daemon=True).start()

    def _serve(self, connection, number):
        with connection, connection.makefile('rw') as lines:
            while line := lines.readline():
                answer = self.act(line.split()[0], number)
                if answer == 'die':
                    return
                if answer is None:
                    continue
                lines.write(self.ordinary(line.split()) if answer == line.split()[0] else answer + '\n')
                lines.flush()

    @staticmethod
    def ordinary(words):
        numbers = {'hello': f' {VERSION} 1 0 0 0100007fffff0000 0 0', 'begin': ' 400',
                   'mr': ' 77 1000 78', 'mw': ' 79', 'srq': ' 1', 'qp': ' 11', 'poll': ' 0',
                   'query': ' 3 64 c8 0', 'bind': ' 7a', 'memory': ' 0 0 0 0'}
        return 'ok' + numbers.get(words[0], '') + '\n'

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        except OSError:
            pass  # closed before
        self.listener.close()


class Suite:
    """A folder of scenarios: three, each with a call; they pass if the calls succeed."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, 'suite')
        os.makedirs(os.path.join(self.folder, 'A-calls'))
        os.makedirs(os.path.join(self.folder, 'B-more'))
        for name, lines in (('A-calls/A1-arm', '+0 arm send next\n'),
                            ('A-calls/A2-post', '+0 post 1 send wr 1 len 8\n'),
                            ('B-more/B1-dereg', '+0 dereg o\n')):
            rule, title = os.path.basename(name).split('-')
            with open(os.path.join(self.folder, name + '.scn'), 'w', encoding='ascii') as f:
                f.write(SCENARIO.format(rule=rule, title=title + ' is answered.', lines=lines))


def conform(rocin, suite, agent, *options, call_ms=20000):
    done = subprocess.run([rocin, 'conform', '--target', f'127.0.0.1:{agent.port}',
                           f'--call-timeout={call_ms}', *options, suite.folder],
                          capture_output=True, text=True, check=False, timeout=600)
    agent.close()
    return done


def expect(done, status, *texts):
    said = done.stdout + done.stderr
    assert done.returncode == status, (done.returncode, said)
    for text in texts:
        assert text in said, (text, said)


def once(word, answer):
    """Answers a word so in the first connection only."""
    return lambda got, number: answer if got == word and number == 1 else got


def check_losses(rocin, suite):
    expect(conform(rocin, suite, Agent()), 0, '3 scenarios: 3 passed, 0 failed')
    # The call that hangs is the scenario's; the next connection serves the rest.
    hangs = Agent(once('post', None))
    expect(conform(rocin, suite, hangs, call_ms=8000), 1, 'A2-post.scn:5: a call did not return: post',
           '3 scenarios: 2 passed, 1 failed')
    assert hangs.connections == 2
    expect(conform(rocin, suite, Agent(once('arm', 'die'))), 1, 'A1-arm.scn:5: the agent died: arm',
           '2 passed, 1 failed')
    for nonsense in 'frob', 'ok x', 'no', 'no 0', 'ok ' + '0 ' * 60:
        expect(conform(rocin, suite, Agent(once('dereg', nonsense))), 1,
               'the agent answered nonsense: dereg', '1 failed')
    # What hangs while the objects are destroyed fails the scenario that made them.
    begins = []

    def hang_at_the_end(word, number):
        if word == 'begin' and number == 1:
            begins.append(word)
            return None if len(begins) == 2 else word
        return word

    expect(conform(rocin, suite, Agent(hang_at_the_end), call_ms=8000), 1,
           'A1-arm.scn:6: a call did not return: destroying the objects\n', '2 passed, 1 failed')
    # What had failed before is not forgotten.
    begins.clear()
    arm = lambda word, number: 'no 16' if word == 'arm' else hang_at_the_end(word, number)
    expect(conform(rocin, suite, Agent(arm), call_ms=8000), 1,
           'A1-arm.scn:5: a call did not return: destroying the objects; before that the call failed with errno 22\n')


def check_lies(rocin, suite):
    """Answers of the right form that cannot be: failures, no hang and no crash."""
    for word, answer in (('poll', 'ok 1 0 1 11 8 0 0 ff ff ffff'), ('poll', 'ok 3 11 ffff'),
                         ('poll', 'ok 2 ffffffff'), ('poll', 'ok ffffffffffffffff'),
                         ('qp', 'ok'), ('mr', 'ok'), ('begin', 'ok'),
                         ('qp', 'ok ffffffffffffffff'), ('memory', 'ok 0')):
        done = conform(rocin, suite, Agent(lambda got, _, w=word, a=answer: a if got == w else got))
        assert done.returncode in (0, 1), (word, answer, done.returncode, done.stderr)
        assert '3 scenarios: ' in done.stdout, (word, answer, done.stdout, done.stderr)


def check_abilities(rocin, suite):
    """What the device has not got is not asked for, neither by a post nor by a packet of its peer."""
    flush = 'RC_FLUSH psn 100 va m+0 rkey m dmalen 64 placement global'
    write = 'RC_ATOMIC_WRITE psn 100 len 8 va m+0 rkey m dmalen 8'
    rc = 'setup rc0\n'
    xrc = ('mr m len 8192 access all\nsrq s xrcd 5\n'
           'qp 1 xrc_recv rts epsn 100 mtu 1024 rnr_timer 12 dest_rd 2 access remote xrcd 5\n')
    path = os.path.join(suite.folder, 'needs.scn')
    for setup, line, why in ((rc, f'< 1 {flush}', 'the agent cannot post a FLUSH there'),
                             (xrc, f'< 1 X{flush} srq s', 'the agent cannot post a FLUSH there'),
                             (rc, f'< 1 {write}', 'the device has no ATOMIC WRITE'),
                             (rc, 'post 1 flush wr 1 len 8 va 0x1000 rkey 1 placement global select range',
                              'the agent cannot post a FLUSH there')):
        with open(path, 'w', encoding='ascii') as f:
            f.write(f'# A3: It is not asked for.\n{setup}\n+0 {line}\nend quiet\n')
        # can: shared receive queues and XRC
        hello = f'ok {VERSION} 1 3 0 0100007fffff0000 0 0'
        agent = Agent(lambda word, _: hello if word == 'hello' else word)
        done = conform(rocin, suite, agent, '--all')
        assert why in done.stdout, (line, why, done.stdout, done.stderr)
    os.remove(path)


CONNECT = 1 << 13  # RN_CONFORM_CAN_CONNECT
CONNECTIONS = (('N3-connect', 'conn c\n+0 connect c\n+0 > c REQ\nend\n'),
               ('N2-listen', 'conn c\n+0 listen c\n+0 < c REQ\n+0 event c req\n+0 query c dest 0x91\nend\n'),
               ('N3-psn', 'conn c\n+0 connect c psn 1\nend\n'))


def connecting(act):
    """An agent that has librdmacm, and lies as `act' says."""
    return Agent(lambda word, number: f'ok {VERSION} 1 {CONNECT:x} 0 0100007fffff0000 0 0'
                 if word == 'hello' else act(word, number))


def check_connections(rocin, suite):
    """Connections that nobody makes are failures, and so is what cannot be; what librdmacm cannot
    do, and what an agent without it cannot, is skipped."""
    folder = os.path.join(suite.folder, 'connections')
    os.makedirs(folder)
    for name, text in CONNECTIONS:
        with open(os.path.join(folder, name + '.scn'), 'w', encoding='ascii') as f:
            f.write(f'# {name.split("-", maxsplit=1)[0]}: It is said.\n{text}')
    only = Suite.__new__(Suite)
    only.folder = folder
    quick = ('--slack=100', '--all')
    expect(conform(rocin, only, Agent(), *quick), 0, '3 scenarios: 0 passed, 0 failed, 3 skipped',
           'the agent has no librdmacm that connects by this device', 'librdmacm chooses the PSNs')
    silent = lambda word, _: word
    expect(conform(rocin, only, connecting(silent), *quick), 1, 'N3-connect.scn:4: nothing left',
           'N2-listen.scn:5: the program learns of nothing', '0 passed, 2 failed, 1 skipped')
    hang = lambda word, number: once('connect', None)(word, number)
    expect(conform(rocin, only, connecting(hang), *quick, call_ms=4000), 1,
           'N3-connect.scn:3: a call did not return: connect')
    expect(conform(rocin, only, connecting(lambda word, _: 'no 6e' if word == 'connect' else word), *quick), 1,
           'N3-connect.scn:3: the call failed with errno 110')
    for answer in ('ok 4 ff 0 0 0', 'ok 4 0 0', 'ok 4 0 ffffffff 0 ffff', 'ok 4 0 0 ffffff92 118',
                   'ok 4 0 5 0 ffffffffffffffff', 'ok 4 0 0 0 8 1', 'ok 4'):
        done = conform(rocin, only, connecting(lambda word, _, a=answer: a if word == 'poll' else word),
                       *quick)
        assert done.returncode == 1 and '3 scenarios: 0 passed, 2 failed' in done.stdout, (
            answer, done.returncode, done.stdout, done.stderr)
    shutil.rmtree(folder)


def check_gone(rocin, suite):
    """An agent that never comes back ends the run; what was run is reported."""
    agent = Agent()

    def die(word, _number):
        if word != 'post':
            return word
        agent.close()
        return 'die'

    agent.act = die
    expect(conform(rocin, suite, agent), 2, 'the agent is gone', 'A2-post.scn:5: the agent died: post',
           '2 scenarios: 1 passed, 1 failed, 1 not run')


def check_reports(rocin, suite, folder):
    refuse = lambda word, _: 'no c' if word in ('post', 'dereg') else word
    files = {kind: os.path.join(folder, 'report.' + kind) for kind in ('junit', 'html', 'markdown')}
    done = conform(rocin, suite, Agent(refuse), '--json', '--progress',
                   *(f'--{kind}={path}' for kind, path in files.items()))
    assert '3 of 3: ' in done.stderr and '2 of 3: ' in done.stderr, done.stderr
    report = json.loads(done.stdout)
    failed = [c for c in report['cases'] if not c['passed']]
    assert done.returncode == 1 and report['failed'] == len(failed) == 2, report
    assert {c['signature'] for c in failed} == {BIND + ' 12'}, failed
    assert all('call in line 5' in c['trace'] and c['seconds'] >= 0 for c in failed)
    root = xml.parse(files['junit']).getroot()
    assert root.tag == 'testsuites' and root.get('failures') == '2'
    assert [(s.get('tests'), s.get('failures')) for s in root] == [('2', '1'), ('1', '1')]
    assert all(float(c.get('time')) >= 0 for s in root for c in s)
    page = xml.parse(files['html']).getroot()
    assert page.tag.endswith('html')
    with open(files['markdown'], encoding='utf-8') as f:
        text = f.read()
    assert f'## Not explained: {BIND} 12' in text and 'Also: `B-more/B1-dereg.scn`' in text, text
    done = conform(rocin, suite, Agent(refuse))
    expect(done, 1, 'findings, 1 in 2 failures:', f'     2  {BIND} 12',
           'A-calls/A2-post.scn, B-more/B1-dereg.scn')


def check_profiles(rocin, suite, folder):
    refuse = lambda word, _: 'no c' if word in ('post', 'dereg') else word
    os.makedirs(os.path.join(suite.folder, 'expect'))
    profile = os.path.join(suite.folder, 'expect', 'fake')
    with open(profile, 'w', encoding='ascii') as f:
        f.write('# what it does\n\ndeviation no-memory\nsays It never\nsays has memory.\n'
                f'rule Devices have.\nsource fake.c\nfails A-calls/*.scn {BIND}*\n'
                f'fails B-more/B1-dereg.scn {BIND} 12\n')
    expect(conform(rocin, suite, Agent(refuse), '--expect=fake'), 0,
           'expected: no-memory, 2 scenarios: It never has memory.',
           '3 scenarios: 1 passed, 0 failed, 2 failed as expected')
    # One is repaired, one fails otherwise: that is news.
    other = lambda word, _: 'no 16' if word == 'post' else word
    markdown = os.path.join(folder, 'other.md')
    expect(conform(rocin, suite, Agent(other), f'--expect={profile}', f'--markdown={markdown}'), 0,
           'repaired: B-more/B1-dereg.scn no longer fails as no-memory says')
    with open(markdown, encoding='utf-8') as f:
        text = f.read()
    assert text.startswith('# Deviations from the rules of RoCEv2: fake\n'), text
    assert '## no-memory' in text and '- rule: Devices have.' in text, text
    with open(profile, 'a', encoding='ascii') as f:
        f.write('')
    with open(os.path.join(folder, 'strict'), 'w', encoding='ascii') as f:
        f.write(f'deviation no-memory\nfails A-calls/A2-post.scn {BIND} 12\n')
    expect(conform(rocin, suite, Agent(other), f'--expect={folder}/strict'), 1,
           '1 failed', 'A2-post.scn:5: ' + BIND + ' 22', 'repaired: A-calls/A2-post.scn')
    for text, complaint in (('fails A b\n', ':1: no `deviation\' before this line'),
                            ('deviation\n', ':1: a word without a text'),
                            ('deviation x\nfrob y\n', ':2: neither deviation, says'),
                            ('deviation x\nfails y\n', ':2: neither deviation, says')):
        with open(os.path.join(folder, 'bad'), 'w', encoding='ascii') as f:
            f.write(text)
        expect(conform(rocin, suite, Agent(), f'--expect={folder}/bad'), 2, complaint)
    expect(conform(rocin, suite, Agent(), '--expect=nobody'), 2, 'nobody: No such file')


def check_known_devices(rocin, suite, scenarios):
    """The profiles of the tree can be read, and each line is about scenarios that are there."""
    names = ['/'.join(path.split('/')[-2:]) for path in glob.glob(f'{scenarios}/*/*.scn')]
    for profile in glob.glob(f'{scenarios}/expect/*'):
        expect(conform(rocin, suite, Agent(), f'--expect={profile}'), 0, '3 passed, 0 failed')
        with open(profile, encoding='ascii') as f:
            patterns = [line.split(' ')[1] for line in f if line.startswith('fails ')]
        assert patterns
        for pattern in patterns:
            assert fnmatch.filter(names, pattern), (profile, pattern)


def main(rocin, folder, source):
    suite = Suite(folder)
    check_losses(rocin, suite)
    check_lies(rocin, suite)
    check_abilities(rocin, suite)
    check_connections(rocin, suite)
    check_gone(rocin, suite)
    check_reports(rocin, suite, folder)
    check_profiles(rocin, suite, folder)
    check_known_devices(rocin, suite, f'{source}/tests/sim/scenario')


if __name__ == '__main__':
    main(*sys.argv[1:])
