#!/usr/bin/env python3
"""muster attach beside running jobs: usage: cli_attach.py MUSTER MUSTERD SHEPHERD."""
import os
import signal
import sys

from cli_cluster import play
from cli_stories import holds, same, test, wait_for

STEPS = 'for i in 1 2 3 4 5 6; do echo $i; while [ ! -e go$i ]; do sleep 0.05; done; done; exit 5'


def begin(c, *words, script=STEPS):
    for name in os.listdir(c.folder):
        if name.startswith('go'):
            os.unlink(os.path.join(c.folder, name))
    job = c.submit('-q', 'a', '--retries', '0', *words, '--', 'sh', '-c', script)
    wait_for(lambda: c.run('logs', job).stdout.startswith('1\n'))
    return job


def attached(p, streams):
    """It takes signals from a descriptor, and has opened its streams after that: of the events, and
    of standard output and error of each rank."""
    def sockets():
        kinds = []
        for fd in sorted(map(int, os.listdir('/proc/%d/fd' % p.pid))):
            try:
                kinds.append(os.readlink('/proc/%d/fd/%d' % (p.pid, fd)).split(':[')[0])
            except OSError:
                continue  # closed meanwhile
        signals = 'anon_inode'
        return kinds[kinds.index(signals):].count('socket') if signals in kinds else 0
    wait_for(lambda: sockets() >= streams)


def go(c, *steps):
    for step in steps:
        c.write('go%d' % step, '')


@test
def from_now_to_the_end_with_the_jobs_status(c):
    job = begin(c)
    p = c.begin('attach', job)
    attached(p, 3)
    go(c, 1, 2, 3, 4, 5, 6)
    out, err = p.communicate(timeout=60)
    same((p.returncode, out), (5, '2\n3\n4\n5\n6\n'), err)
    holds(err, 'muster: job %s failed, status 5' % job)


@test
def from_the_start_or_with_the_last_lines(c):
    job = begin(c)
    go(c, 1, 2)
    wait_for(lambda: '3\n' in c.run('logs', job).stdout)
    whole = c.begin('attach', '--from-start', '--quiet', job)
    last = c.begin('attach', '-n', '1', job)
    attached(whole, 3)
    attached(last, 3)
    go(c, 3, 4, 5, 6)
    out, err = whole.communicate(timeout=60)
    same((whole.returncode, out, err), (5, '1\n2\n3\n4\n5\n6\n', ''))
    out, err = last.communicate(timeout=60)
    same((last.returncode, out), (5, '3\n4\n5\n6\n'), err)


@test
def all_ranks_with_their_numbers(c):
    job = begin(c, '--tasks', '2', script='echo 1; while [ ! -e go1 ]; do sleep 0.05; done; echo $RANK')
    wait_for(lambda: c.run('logs', '--task', '1', job).stdout == '1\n')
    p = c.begin('attach', '--all', job)
    attached(p, 5)
    go(c, 1)
    out, err = p.communicate(timeout=60)
    same((p.returncode, sorted(out.splitlines())), (0, ['[0] 0', '[1] 1']), err)


@test
def ctrl_c_leaves_the_job_alone(c):
    job = begin(c)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        p = c.begin('attach', job)
        attached(p, 3)
        p.send_signal(sig)
        _, err = p.communicate(timeout=60)
        same(p.returncode, 0, err)
        holds(err, 'muster: job %s goes on; `muster attach %s`' % (job, job))
        same(c.state(job), 'running')
    same(c.run('cancel', job).returncode, 0)


@test
def a_waiting_job_is_waited_for(c):
    job = c.submit('-q', 'a', '--hold', '--', 'echo', 'late')
    p = c.begin('attach', job)
    for line in p.stderr:
        if 'job %s is held' % job in line:
            break
    same(c.run('release', job).returncode, 0)
    out, err = p.communicate(timeout=60)
    same((p.returncode, out), (0, 'late\n'), err)


@test
def a_new_attempt_is_shown_from_its_start(c):
    job = begin(c, script='trap "exit 0" TERM; echo 1; while [ ! -e go1 ]; do sleep 0.05; done; echo end')
    p = c.begin('attach', job)
    attached(p, 3)
    same(c.run('requeue', job).returncode, 0)
    wait_for(lambda: c.job(job)['attempt'] == 2 and c.state(job) == 'running')
    go(c, 1)
    out, err = p.communicate(timeout=60)
    same((p.returncode, out), (0, '1\nend\n'), err)


@test
def a_killed_musterd_is_waited_for(c):
    job = begin(c)
    p = c.begin('attach', job)
    attached(p, 3)
    go(c, 1)
    same(p.stdout.readline(), '2\n')
    c.stop(signal.SIGKILL)
    go(c, 2, 3)
    c.start()
    go(c, 4, 5, 6)
    out, err = p.communicate(timeout=60)
    same((p.returncode, out), (5, '3\n4\n5\n6\n'), err)


@test
def what_is_not_there_or_over_is_said(c):
    job = c.submit('-q', 'a', '--wait', '--', 'true').split('\n')[0]
    r = c.run('attach', job)
    same(r.returncode, 7)
    holds(r.stderr, 'muster: job.wrong_state: job %s has ended (succeeded); `muster logs' % job)
    same(c.run('attach', '9999').returncode, 5)
    same(c.run('attach', '--tail', 'x', job).returncode, 2)
    same(c.run('attach', '--tail', '1', '--from-start', job).returncode, 2)


if __name__ == '__main__':
    sys.exit(play())
