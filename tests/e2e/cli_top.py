#!/usr/bin/env python3
"""muster top on a terminal of our own, with a real musterd: usage: cli_top.py MUSTER MUSTERD
SHEPHERD."""
import json
import os
import re
import signal
import subprocess
import sys
import time

from cli_cluster import MUSTER, play
from cli_screen import Screen
from cli_stories import holds, same, test, wait_for


class Top(Screen):
    def __init__(self, c, *words, rows=24, columns=80, **env):
        super().__init__([MUSTER, 'top', *words], dict(c.env, **env), c.folder, rows, columns)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


def children_of(pid):
    found = subprocess.run(['pgrep', '-P', str(pid)], stdout=subprocess.PIPE, text=True)
    return [int(word) for word in found.stdout.split()]


def child_of(pid):
    child, = children_of(pid)
    return child


def state_of(pid):
    with open('/proc/%d/stat' % pid) as file:
        return file.read().rpartition(')')[2].split()[0]


def clear(c):
    jobs = c.run('ps', '-o', 'name').stdout.split()
    if jobs:
        c.run('cancel', *jobs)
    wait_for(lambda: not c.run('ps', '-o', 'name').stdout.split())


@test
def one_page_for_scripts(c):
    clear(c)
    r = c.run('top', '--once', env={'COLUMNS': '80'})
    same(r.returncode, 0, r.stderr)
    lines = r.stdout.splitlines()
    holds(lines[0], 'muster top (simulated GPUs)  ')
    holds(lines[0], 'Z  jobs: 0 run, 0 wait')
    same(lines[1], 'gpu           [..........................] 0/16 used, 16 free')
    same(lines[2].split(), ['QUEUE', 'POOL', 'RESERVED', 'USED', 'BORROWED', 'LENT', 'WAITING',
                            'RUN', 'WAIT'])
    same(lines[3].split(), ['a', 'gpu', '8', '0'])
    same(lines[-1], 'no jobs')
    job = c.submit('-q', 'a', '--tasks', '12', '-g', '1', '-n', 'wide', '--', 'sleep', '1000')
    wait_for(lambda: c.state(job) == 'running')
    lines = c.run('top', '-1', env={'COLUMNS': '80'}).stdout.splitlines()
    same(lines[1], 'gpu           [#############+++++++......] 12/16 used, 4 borrowed, 4 free')
    same(lines[3].split(), ['a', 'gpu', '8', '12', '4', '1'])
    same(lines[-1].split()[:6], [job, 'wide', c.job(job)['user'], 'a', 'running', '12/12'])
    assert all(len(line) <= 80 for line in lines), lines
    all_of_it = json.loads(c.run('top', '-o', 'json').stdout)
    same([j['job'] for j in all_of_it['jobs']], [job])
    same(c.run('top', '-o', 'name').returncode, 2)
    same(c.run('top', '--once', '--queue', 'b').stdout.splitlines()[-1], 'no jobs')
    same(c.run('top', '--once', '--queue', 'none').returncode, 5)
    same(c.run('top', '--sort', 'size').returncode, 2)
    r = c.run('top')
    same(r.returncode, 2)
    holds(r.stderr, 'top needs a terminal; --once prints one page')


@test
def it_follows_what_happens(c):
    clear(c)
    with Top(c) as top:
        top.shows('muster top', 'QUEUE', 'no jobs', 'q quit')
        job = c.submit('-q', 'b', '-g', '4', '-n', 'first', '--', 'sleep', '1000')
        top.shows('first', 'running', '4/4', '4/16 used')
        c.run('cancel', job)
        top.shows('no jobs', '0/16 used')
        top.type('q')
        same(top.ends(), 0)
        assert top.is_sane()


@test
def keys_sort_filter_and_scroll(c):
    clear(c)
    for name in ('aa', 'bb'):
        c.submit('-q', name[0], '--hold', '-g', '1', '-n', name, '--array', '0-19', '--', 'true')
    with Top(c) as top:
        top.shows(' aa ', '! bb ')
        top.type('G')
        top.shows(' bb ', '! aa ')
        top.type('g')
        top.shows(' aa ', '! bb ')
        top.type('\x1bOB' * 4)  # the arrow, four times
        top.shows(' aa ', ' bb ')
        top.type('f')
        top.shows('only of queue')
        top.type('x\x7fb\r')
        top.shows('queue b', ' bb ', '! aa ')
        top.type('w')
        top.shows('show: running', 'no jobs')
        top.type('x')
        top.shows(' aa ', 'show: all')
        top.type('fnone\r')
        top.shows('none"')
        top.type('x')
        top.shows(' aa ')
        top.type('s')
        top.shows('order: age')
        top.type('gS')
        top.shows('order: age reversed', ' bb ', '! aa ')
        top.type('?')
        top.shows('Any key goes back')
        top.type('z')
        top.shows(' bb ', '!Any key')
        top.type('pt')
        top.shows('!QUEUE            POOL', ' bb ')
        top.type('u')
        top.shows('only of user')
        top.type('\x1b')  # until it is taken: with what follows at once it would be another key
        top.shows('q quit', '!only of user')
        top.type('\x03')
        same(top.ends(), 0)
        assert top.is_sane()
    clear(c)


@test
def it_fits_any_size(c):
    clear(c)
    c.submit('-q', 'a', '--hold', '-n', 'nn', '--array', '0-11', '--', 'true')
    last = c.submit('-q', 'a', '--hold', '-n', 'last', '--', 'true')
    with Top(c) as top:
        top.shows(' nn ', 'INFO')
        for rows, columns in ((40, 160), (10, 40), (3, 20), (1, 10), (24, 80)):
            top.resize(rows, columns)
            top.clear()
            top.shows('muster top'[:columns])
        top.shows(' nn ', 'QUEUE            POOL', 'q quit')
        top.resize(50, 200)
        top.shows('%s last' % last, 'it is held')
        top.type('q')
        same(top.ends(), 0)
    clear(c)


@test
def musterd_goes_away_and_comes_back(c):
    clear(c)
    job = c.submit('-q', 'a', '-g', '1', '-n', 'stays', '--', 'sleep', '1000')
    with Top(c) as top:
        top.shows('stays', 'running')
        c.stop(signal.SIGKILL)
        top.shows('musterd is away', 'stays')
        c.start()
        top.shows('!musterd is away', 'stays', 'running')
        c.run('cancel', job)
        top.shows('no jobs')
        top.type('q')
        same(top.ends(), 0)
    with Top(c, MUSTER_SOCKET='/nowhere/s') as top:
        same(top.ends(), 8)
        holds(top.raw, 'muster: server.unreachable: no musterd answers at /nowhere/s')
        assert top.is_sane()


@test
def the_terminal_is_given_back_whatever_ends_it(c):
    for whom, sig, status in (('top', signal.SIGTERM, 0), ('top', signal.SIGHUP, 0),
                              ('screen', signal.SIGKILL, 137), ('screen', signal.SIGSEGV, 139)):
        with Top(c) as top:
            top.shows('muster top')
            assert not top.is_sane()
            os.kill(top.pid if whom == 'top' else child_of(top.pid), sig)
            got = top.ends()
            # a sanitizer makes an exit of its own of a crash
            assert got == status or (sig == signal.SIGSEGV and got > 0), (whom, sig, got)
            assert top.is_sane(), (whom, sig)
    with Top(c) as top:
        top.shows('muster top')
        screen = child_of(top.pid)
        os.kill(top.pid, signal.SIGKILL)
        os.waitpid(top.pid, 0)
        top.status = -9
        wait_for(lambda: not os.path.exists('/proc/%d' % screen) or top.read(0.05) is None)
        assert top.is_sane()


@test
def it_can_be_stopped_and_goes_on(c):
    shell = Screen(['bash', '--norc', '--noprofile', '-i'], dict(c.env, PS1='$ '), c.folder)
    try:
        shell.shows('$')
        shell.type('muster top\r')
        shell.shows('QUEUE', 'q quit')
        shell.type('\x1a')
        shell.shows('Stopped')
        shell.type('echo he"ll"o\r')
        shell.shows('hello')
        top, = children_of(shell.pid)
        wait_for(lambda: state_of(top) == state_of(child_of(top)) == 'T')
        shell.type('clear; fg\r')
        shell.shows('q quit', '!hello')
        shell.type('q')
        wait_for(lambda: shell.read(0.05) and not children_of(shell.pid))
        shell.type('echo rc=$?\r')
        shell.shows('rc=0')
    finally:
        shell.close()


@test
def colour_only_where_it_is_wanted(c):
    for env, wanted in (({'TERM': 'xterm'}, True), ({'TERM': 'xterm', 'NO_COLOR': '1'}, False)):
        top = Screen.__new__(Top)
        top.take = lambda text: None  # more than a VT100: only the bytes are looked at
        Screen.__init__(top, ['env', *('%s=%s' % pair for pair in env.items()), MUSTER, 'top'],
                        c.env, c.folder)
        with top:
            end = time.monotonic() + 60
            while 'show: all' not in top.raw and time.monotonic() < end:
                top.read(0.2)
            same(re.search(r'\x1b\[3[0-7]m', top.raw) is not None, wanted, repr(top.raw))
            top.type('q')
            same(top.ends(), 0)
    top = subprocess.run([MUSTER, 'top', '--once', '--color=always'], env=c.env,
                         stdout=subprocess.PIPE, text=True)
    holds(top.stdout, '\x1b[1mmuster top\x1b[0m')


@test
def an_unknown_terminal_is_said(c):
    # ncurses leaks what it had begun for the terminal
    top = Screen(['env', 'TERM=nonsense', 'ASAN_OPTIONS=detect_leaks=0', MUSTER, 'top'], c.env,
                 c.folder)
    try:
        same(top.ends(), 2)
        holds(top.raw, "the terminal 'nonsense' is not known; --once prints one page")
    finally:
        top.close()


if __name__ == '__main__':
    sys.exit(play())
