#!/usr/bin/env python3
"""Completion in real shells, with musterd and without: usage: cli_completion.py MUSTER MUSTERD
SHEPHERD.  A shell that is not installed is skipped."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from cli_cluster import MUSTER, POLICY, play
from cli_stories import Skip, holds, same, test, wait_for


class Shell:
    """A shell on a terminal; complete(line) types the line and a tab and says what became of it."""

    def __init__(self, c, *words):
        if shutil.which(words[0]) is None:
            raise Skip('%s is not installed' % words[0])
        env = dict(c.env, PS1='$ ', TERM='xterm', HOME=c.folder, PATH=os.environ['PATH'])
        env['PATH'] = os.path.dirname(MUSTER) + ':' + env['PATH']
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(c.folder)
            os.execvpe(words[0], words, env)
        self.text = ''
        self.count = 0

    def read(self, until, seconds=60):
        end = time.monotonic() + seconds
        while until not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError('no %r in %r' % (until, self.text[-400:]))
            self.text += os.read(self.fd, 65536).decode(errors='replace')

    def type(self, text):
        os.write(self.fd, text.encode())

    def run(self, line):
        """Run a line and give what it printed."""
        self.count += 1
        self.text = ''
        self.type(line + '; echo "end""%d"\r' % self.count)
        self.read('end%d' % self.count)

    def complete(self, line, want):
        """What a tab makes of a line.  A shell does not say that it is done: if it is not what is
        wanted, the shell is given longer."""
        got = None
        for pause in (0.2, 1, 4, 15):
            got = self.completed(line, pause)
            if got == want:
                break
        same(got, want)

    def completed(self, line, pause):
        self.count += 1
        self.text = ''
        self.type(line + '\t')
        time.sleep(pause)
        self.type('\x05"; echo "end""%d"\x01echo "<\r' % self.count)
        self.read('end%d' % self.count)
        found = re.findall(r'[\r\n]<(.*?) *\r?\n', self.text)
        return found[-1].rstrip() if found else self.text

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def stories(c, shell):
    for line, want in (('muster jour', 'muster journal'),
                       ('muster queue sh', 'muster queue show'),
                       ('muster submit --min', 'muster submit --min-tasks'),
                       ('muster ps --state=stop', 'muster ps --state=stopping'),
                       ('muster ps -o ya', 'muster ps -o yaml'),
                       ('muster policy check only-f', 'muster policy check only-file.yaml'),
                       ('muster submit --queue al', 'muster submit --queue alpha'),
                       ('muster submit --queue=al', 'muster submit --queue=alpha'),
                       ('muster queue show al', 'muster queue show alpha'),
                       ('muster node drain local/n', 'muster node drain local/n1')):
        shell.complete(line, want)


def with_a_job(c, shell):
    job = c.submit('-q', 'alpha', '--hold', '--', 'true')
    shell.complete('muster cancel ', 'muster cancel ' + job)
    same(c.run('cancel', job).returncode, 0)


@test
def bash_completes(c):
    c.write('only-file.yaml', '')
    shell = Shell(c, 'bash', '--norc', '--noprofile', '-i')
    try:
        shell.run('source <(muster completion bash)')
        stories(c, shell)
        with_a_job(c, shell)
    finally:
        shell.close()


@test
def zsh_completes(c):
    c.write('only-file.yaml', '')
    shell = Shell(c, 'zsh', '-f', '-i')
    try:
        shell.run('autoload -U compinit; compinit -u -D; source <(muster completion zsh)')
        stories(c, shell)
        with_a_job(c, shell)
    finally:
        shell.close()


@test
def zsh_finds_the_installed_file(c):
    if shutil.which('zsh') is None:
        raise Skip('zsh is not installed')
    c.write('_muster', c.run('completion', 'zsh').stdout)
    shell = Shell(c, 'zsh', '-f', '-i')
    try:
        shell.run('fpath=($PWD $fpath); autoload -U compinit; compinit -u -D')
        shell.complete('muster queue sh', 'muster queue show')
        shell.complete('muster queue show al', 'muster queue show alpha')
    finally:
        shell.close()


@test
def fish_completes(c):
    if shutil.which('fish') is None:
        raise Skip('fish is not installed')
    c.write('only-file.yaml', '')
    script = 'muster completion fish | source\n'
    for line, want in (('muster jour', 'journal'), ('muster queue sh', 'show'),
                       ('muster submit --min', '--min-tasks'), ('muster ps -o ya', 'yaml'),
                       ('muster submit --queue=al', '--queue=alpha'),
                       ('muster policy check only-f', 'only-file.yaml'),
                       ('muster queue show al', 'alpha'), ('muster node drain local', 'local/n1')):
        r = subprocess.run(['fish', '--no-config', '-c', script + 'complete -C "%s"' % line],
                           env=dict(c.env, PATH=os.path.dirname(MUSTER) + ':' + os.environ['PATH']),
                           cwd=c.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=60)
        same([row.split('\t')[0] for row in r.stdout.splitlines()], [want], line + r.stderr)


@test
def without_musterd_there_are_no_names_and_no_messages(c):
    shell = Shell(c, 'bash', '--norc', '--noprofile', '-i')
    try:
        shell.run('source <(muster completion bash); export MUSTER_SOCKET=/nowhere/s')
        shell.complete('muster queue show al', 'muster queue show al')
        shell.complete('muster queue sh', 'muster queue show')
        assert 'unreachable' not in shell.text
    finally:
        shell.close()
    c.daemon.send_signal(signal.SIGSTOP)  # it is there and does not answer
    try:
        begun = time.monotonic()
        r = c.run('_complete', '3', 'queue', 'show', '')
        same((r.returncode, r.stdout, r.stderr), (0, '', ''))
        assert time.monotonic() - begun < 15  # a second, on a machine that has time
    finally:
        c.daemon.send_signal(signal.SIGCONT)
    wait_for(lambda: c.run('version').returncode == 0)


@test
def wrong_use_is_said(c):
    r = c.run('completion', 'tcsh')
    same(r.returncode, 2)
    holds(r.stderr, "no completion for 'tcsh': bash, zsh or fish")
    for words in ([], ['x'], ['0'], ['9', 'a']):
        same(c.run('_complete', *words).returncode, 2)


if __name__ == '__main__':
    sys.exit(play(POLICY.replace('name: a\n', 'name: alpha\n').replace('[a, b]', '[alpha, b]')
                  .replace('n[1-2]', 'n1').replace('gpu: 8}', 'gpu: 0}')))
