#!/usr/bin/env python3
"""The command line against musterd itself, with simulated GPUs and real processes: usage:
cli_daemon.py MUSTER MUSTERD SHEPHERD."""
import json
import os
import signal
import stat
import sys

from cli_cluster import play
from cli_stories import holds, same, test, wait_for


@test
def run_gives_output_and_exit_code(c):
    r = c.run('run', '-q', 'a', '-g', '1', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3')
    same((r.returncode, r.stdout), (3, 'out\n'), r.stderr)
    holds(r.stderr, 'err\n')
    same(c.run('run', '-q', 'a', '--', 'sh', '-c', 'kill -USR1 $$').returncode, 128 + 10)
    same(c.run('run', '-q', 'a', 'true').returncode, 0)


@test
def the_ranks_of_a_gang_know_themselves(c):
    r = c.run('run', '--all', '-q', 'a', '--tasks', '3', '-g', '1', '--', 'sh', '-c',
              'echo $RANK of $WORLD_SIZE')
    same(sorted(r.stdout.splitlines()), ['[0] 0 of 3', '[1] 1 of 3', '[2] 2 of 3'], r.stderr)


@test
def an_owner_takes_back_and_why_says_so(c):
    borrower = c.submit('-q', 'a', '--tasks', '12', '-g', '1', '--', 'sleep', '1000')
    wait_for(lambda: c.state(borrower) == 'running')
    line = c.run('ps', '--no-header').stdout.split()
    same(line[5:9], ['12/12', 'mixed', '8+4', line[8]])
    owner = c.submit('-q', 'b', '--tasks', '8', '-g', '1', '--', 'sleep', '1000')
    wait_for(lambda: c.state(owner) == 'running')
    wait_for(lambda: c.state(borrower) == 'queued')
    r = c.run('why', borrower)
    same(r.returncode, 3, r.stdout)
    holds(r.stdout, 'needs 12 × 1 GPU, queue a')
    same(c.run('why', owner).returncode, 0)
    same(c.run('submit', '--dry-run', '-q', 'a', '--tasks', '16', '-g', '1', '--', 'x').returncode, 3)
    holds(c.run('journal', 'tail', '-n', '1000').stdout, 'job_claimed')
    same(c.run('cancel', owner).returncode, 0)
    wait_for(lambda: c.state(borrower) == 'running')
    same(c.job(borrower)['attempt'], 2)
    same(c.run('cancel', borrower).returncode, 0)
    wait_for(lambda: c.state(borrower) == 'cancelled')
    same(c.run('cancel', borrower).returncode, 7)


@test
def what_can_never_run_is_refused_with_its_code(c):
    for words, status, code in (
            (['-q', 'a', '--tasks', '17', '-g', '1'], 4, 'quota.over_pool'),
            (['-q', 'none', '-g', '1'], 5, 'request.not_found'),
            (['-q', 'a', '--mig', '1g.10gb', '--tasks', '2'], 4, 'place.'),
            (['-q', 'a', '--topology', 'required=moon', '-g', '1'], 4, 'place.no_level'),
            (['-q', 'a', '-g', '1', '--signal', 'NONE'], 2, 'request.invalid')):
        r = c.run('submit', *words, '--', 'true')
        same(r.returncode, status, r.stderr)
        holds(r.stderr, 'muster: ' + code)
        same(r.stderr.count('\n'), 1)
    path = c.write('big.sh', '#!/bin/sh\n#MUSTER -q a\n#MUSTER --gpus 2000\n')
    holds(c.run('submit', path).stderr, 'big.sh:3: ')


@test
def scripts_and_job_files_run(c):
    script = c.write('t.sh', '#!/bin/sh\n#MUSTER -q a --gpus 1\necho "$1 $MUSTER_QUEUE"\n')
    job = c.submit('--wait', script, 'word')
    same(c.run('logs', job).stdout, 'word a\n')
    path = c.write('j.yaml', 'queue: b\nshare: 0.5\nshare_memory: 10Gi\nenv: {A: "1"}\n'
                             'command: [sh, -c, "echo $A; sleep 1; echo end"]\n')
    job = c.submit(path)
    same(c.run('logs', '-f', job).stdout, '1\nend\n')
    same(c.job(job)['requested_gpus'], '0.5')


@test
def held_jobs_wait_for_their_release(c):
    job = c.submit('-q', 'a', '--hold', '-g', '1', '--', 'sh', '-c', 'sleep 1000')
    same(c.run('why', job).returncode, 3)
    same(c.run('release', job).returncode, 0)
    wait_for(lambda: c.state(job) == 'running')
    same(c.run('requeue', job).returncode, 0)
    wait_for(lambda: c.job(job)['attempt'] == 2 and c.state(job) == 'running')
    same(c.run('cancel', job).returncode, 0)


@test
def a_job_says_it_is_done(c):
    r = c.run('run', '-q', 'a', '--', 'sh', '-c',
              'muster checkpoint step-1 && muster done && echo told')
    same((r.returncode, r.stdout), (0, 'told\n'), r.stderr)
    holds(r.stderr, 'step-1')


@test
def ctrl_c_without_a_terminal_cancels(c):
    p = c.begin('run', '-q', 'a', '-g', '1', '--', 'sh', '-c', 'echo up; sleep 1000')
    same(p.stdout.readline(), 'up\n')
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=60)
    same(p.returncode, 128 + 15, err)


@test
def a_killed_musterd_is_waited_for(c):
    p = c.begin('run', '-q', 'a', '-g', '1', '--', 'sh', '-c',
                'for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done; exit 7')
    same(p.stdout.readline(), '1\n')
    c.stop(signal.SIGKILL)
    c.start()
    out, err = p.communicate(timeout=60)
    same((p.returncode, out), (7, '2\n3\n4\n5\n6\n'), err)


@test
def a_policy_is_planned_and_applied(c):
    path = c.write('next.yaml', c.policy_text(4))
    same(c.run('policy', 'check', path).returncode, 0)
    holds(c.run('policy', 'plan', path).stdout, '8 GPUs -> 4 GPUs')
    same(c.run('policy', 'apply', '-y', path).returncode, 0)
    holds(c.run('queue', 'list', '-o', 'json').stdout, '"reserved_gpus": "4"')
    r = c.run('policy', 'check', c.write('bad.yaml', c.policy_text(9).replace('reserved', 'reserve')))
    same(r.returncode, 2)
    holds(r.stderr, 'bad.yaml:')
    same(c.run('policy', 'apply', '-y', c.policy).returncode, 0)


@test
def nodes_drain_and_come_back(c):
    same(c.run('node', 'drain', 'local/n2', '--by', '1h', '--reason', 'fan').returncode, 0)
    holds(c.run('node', 'list').stdout, 'up,drain')
    holds(c.run('node', 'list').stdout, 'fan')
    same(c.run('node', 'resume', 'local/n2').returncode, 0)
    assert 'drain' not in c.run('node', 'list').stdout
    holds(c.run('gpu', 'list').stdout, '(simulated)')
    same(c.run('node', 'show', 'none').returncode, 5)


@test
def the_journal_proves_itself(c):
    holds(c.run('journal', 'verify').stdout, 'the journal is whole')
    lines = c.run('journal', 'export').stdout.splitlines()
    same([json.loads(line)['seq'] for line in lines], list(range(1, len(lines) + 1)))
    r = c.run('token', 'create', 'ci', '--save')
    same(r.returncode, 0, r.stderr)
    same(stat.S_IMODE(os.stat(c.folder + '/.config/muster/token').st_mode), 0o600)


if __name__ == '__main__':
    sys.exit(play())
