#!/usr/bin/env python3
"""The command line against a test double of musterd: usage: cli_commands.py MUSTER SOURCE_ROOT."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from cli_stories import holds, same, tell, test, wait_for
from cli_stub import Stub, event, ok, problem

MUSTER, ROOT = [os.path.abspath(path) for path in sys.argv[1:3]]


class Case:
    """One test's stub, folder and environment."""

    def __init__(self, stub, folder):
        self.stub = stub
        self.folder = folder
        self.env = {'PATH': os.environ['PATH'], 'HOME': folder, 'MUSTER_SOCKET': stub.socket,
                    'LANG': 'C.UTF-8', 'TZ': 'UTC'}
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def run(self, *words, **more):
        env = dict(self.env, **more.pop('env', {}))
        more.setdefault('stdin', subprocess.DEVNULL)
        if 'input' in more:
            del more['stdin']
        return subprocess.run([MUSTER, *words], env=env, cwd=self.folder, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def start(self, *words, **more):
        return subprocess.Popen([MUSTER, *words], env=self.env, cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True, **more)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w') as file:
            file.write(text)
        return path


JOB = {'job': '17', 'name': 'run', 'queue': 'research', 'user': 'ada', 'class': 'training',
       'state': 'running', 'attempt': 1, 'priority': 0, 'preemptible': True, 'pool': 'h100',
       'nodes': ['local/n1', 'local/n2'], 'tasks_want': 32, 'tasks_have': 32,
       'request': '32 × 1 GPU', 'requested_gpus': '32', 'held_gpus': '32', 'kind': 'mixed',
       'split': '24+8', 'reclaimable': True, 'submitted_ms': 1, 'started_ms': 1796054167000,
       'lost_gu_ms': '0', 'info': 'local/n1,local/n2', 'simulated': True}


# ---- errors ----

@test
def no_server_says_so_and_how_to_start_it(c):
    r = c.run('ps', env={'MUSTER_SOCKET': c.folder + '/none'})
    same(r.returncode, 8)
    holds(r.stderr, 'muster: server.unreachable: no musterd answers at %s/none (start it' % c.folder)
    same(r.stderr.count('\n'), 1)


@test
def every_code_has_its_exit_status(c):
    text = open(os.path.join(ROOT, 'src/base/err.h')).read()
    rows = re.findall(r'X\(\w+, -\d+, "([a-z_.]+)", (\d+), (\d+)\)', text)
    assert len(rows) > 40, rows
    for name, status, code in rows:
        if name.startswith('why.'):
            continue
        c.stub.on('GET', '/v1/jobs/17', problem(int(status), name, 'a sentence'))
        r = c.run('show', '17')
        same(r.returncode, int(code), name)
        same(r.stderr, 'muster: %s: a sentence\n' % name)


@test
def a_problem_names_its_field(c):
    c.stub.on('POST', '/v1/jobs', problem(422, 'quota.over_limit', 'asks for 65 of 64',
                                          field='groups[0].gpus'))
    r = c.run('submit', '--gpus', '65', '--', 'true')
    same(r.returncode, 4)
    same(r.stderr, 'muster: quota.over_limit: asks for 65 of 64 (field groups[0].gpus)\n')
    c.write('t.sh', '#!/bin/sh\n\n#MUSTER --gpus 65\n')
    r = c.run('submit', 't.sh')
    holds(r.stderr, 'muster: quota.over_limit: t.sh:3: asks')
    c.write('j.yaml', 'command: [a]\ngpus: 65\n')
    holds(c.run('submit', 'j.yaml').stderr, ': j.yaml:2:1: asks')


@test
def an_answer_that_is_no_json_is_an_error(c):
    c.stub.on('GET', '/v1/jobs', (200, 'application/json', '{"items": [}'))
    r = c.run('ps')
    same(r.returncode, 1)
    holds(r.stderr, 'muster: server.internal: ')
    c.stub.on('GET', '/v1/jobs', (502, 'text/html', '<h1>bad gateway</h1>'))
    same(c.run('ps').returncode, 8)


@test
def a_slow_answer_is_a_timeout(c):
    over = threading.Event()

    def slow(request):
        over.wait(60)
        return ok({'items': []})
    c.stub.on('GET', '/v1/jobs', slow)
    r = c.run('ps', '--timeout', '200ms')
    over.set()
    same(r.returncode, 124)
    holds(r.stderr, 'muster: server.timeout: ')


@test
def wrong_words_are_usage_errors(c):
    for words in (['nothing'], ['queue'], ['queue', 'nothing'], ['why'], ['why', '1', '2'],
                  ['ps', '--nothing'], ['ps', '-o', 'xml'], ['ps', 'word'], ['submit'],
                  ['submit', '--gpus', 'x', '--', 'a'], ['logs', '--task', '-1', '1'],
                  ['run', '--array', '0-3', 'true'], ['ps', '--color', 'blue'],
                  ['ps', '--timeout', '5'], ['completion', 'csh'], ['node', 'drain', 'n', '--by', 'x']):
        r = c.run(*words)
        same(r.returncode, 2, words)
        assert r.stderr and not r.stdout, words
    same(c.stub.requests, [])


@test
def a_full_disk_is_told(c):
    c.stub.on('GET', '/v1/jobs', ok({'items': [JOB], 'next': None}))
    with open('/dev/full', 'w') as full:
        r = subprocess.run([MUSTER, 'ps'], env=c.env, stdout=full, stderr=subprocess.PIPE, text=True)
    same(r.returncode, 1)
    holds(r.stderr, 'cannot write the output')


# ---- lists ----

@test
def ps_lists_jobs_in_every_format(c):
    waiting = dict(JOB, job='18', state='queued', held_gpus='0', kind='-', reclaimable=False,
                   started_ms=None, info='no_idle: 24 of 32 are free')
    answer = {'items': [JOB, waiting], 'next': None}
    c.stub.on('GET', '/v1/jobs', ok(answer))
    lines = c.run('ps').stdout.splitlines()
    same(lines[0].split(), ['JOB', 'NAME', 'USER', 'QUEUE', 'ST', 'GPUS', 'KIND', 'WAIT/RUN',
                            'RECLAIM', 'INFO'])
    for part in ('17', 'research', 'running', '32/32', 'mixed 24+8', 'yes'):
        holds(lines[1], part)
    holds(lines[2], '0/32')
    same(json.loads(c.run('ps', '-o', 'json').stdout), {'items': answer['items']})
    same(c.run('ps', '-o', 'name').stdout, '17\n18\n')
    same(len(c.run('ps', '--no-header').stdout.splitlines()), 2)
    holds(c.run('ps', '-o', 'yaml').stdout, '- job: "17"\n')
    holds(c.run('ps', '-o', 'wide').stdout.splitlines()[0], 'CHECKPOINT')
    holds(c.run('ps', '--color=always').stdout, '\033[32mrunning')
    assert '\033' not in c.run('ps').stdout


@test
def filters_are_passed_on_and_all_pages_read(c):
    def page(request):
        if request.query.get('cursor') == 'c/2':
            return ok({'items': [{'job': '2'}], 'next': None})
        return ok({'items': [{'job': '1'}], 'next': 'c/2'})
    c.stub.on('GET', '/v1/jobs', page)
    same(c.run('ps', '-a', '-q', 'research', '-o', 'name').stdout, '1\n2\n')
    same(c.stub.requests[0].query, {'all': 'true', 'queue': 'research', 'limit': '1000'})


@test
def queues_are_a_tree(c):
    pool = {'pool': 'h100', 'reserved_gpus': '24', 'used_gpus': '32', 'borrowed_gpus': '8'}
    c.stub.on('GET', '/v1/queues', ok({'next': None, 'items': [
        {'queue': 'y', 'parent': 'x', 'state': 'open', 'pools': []},
        {'queue': 'x', 'parent': '', 'state': 'open', 'pools': [pool, dict(pool, pool='mig')]},
        {'queue': 'z', 'parent': 'y', 'state': 'open', 'pools': []}]}))
    lines = c.run('queue', 'list').stdout.splitlines()
    same([line[:5].rstrip() for line in lines], ['QUEUE', 'x', '', '  y', '    z'])
    same(c.run('queue', 'list', '-o', 'name').stdout, 'y\nx\nz\n')


@test
def nodes_gpus_and_pools_are_listed(c):
    node = {'node': 'local/n1', 'pool': 'h100', 'state': 'up', 'drain': True, 'gpus': 8,
            'gpus_free': 3, 'cpus': 64, 'memory_bytes': 1 << 40, 'jobs': ['17'], 'simulated': True,
            'labels': {'disk': 'nvme'}, 'devices': [{'node': 'local/n1', 'slot': 0,
            'state': 'used', 'model': 'h100-80gb', 'memory_bytes': 80 << 30, 'simulated': True,
            'mig': True, 'slices': [{'profile': '1g.10gb', 'start': 0, 'held': True}],
            'holders': [{'job': '17', 'profile': '1g.10gb'}]}]}
    c.stub.on('GET', '/v1/nodes', ok({'items': [node], 'next': None}))
    c.stub.on('GET', '/v1/nodes/local%2Fn1', ok(node))
    c.stub.on('GET', '/v1/gpus', ok({'items': node['devices'], 'next': None}))
    c.stub.on('GET', '/v1/pools', ok({'items': [{'pool': 'h100', 'gpus': 56, 'simulated': True}],
                                     'next': None}))
    holds(c.run('node', 'list').stdout, 'up,drain')
    text = c.run('node', 'show', 'local/n1').stdout
    for part in ('1Ti', 'disk=nvme', '17:1g.10gb', '1g.10gb@0*', 'simulated'):
        holds(text, part)
    holds(c.run('gpu', 'list').stdout, 'h100-80gb MIG (simulated)')
    holds(c.run('pool', 'list').stdout, 'simulated')


@test
def show_prints_all_of_a_job(c):
    job = dict(JOB, tasks=[{'task': '17.1.0', 'group': 'main', 'node': 'local/n1',
                            'state': 'running', 'gpus': [0, 1]}],
               history=[{'seq': '3', 'at_ms': 1796054167000, 'kind': 'job_started',
                         'text': 'started on n1\x1b[2J'}], command=['python', 't.py'])
    c.stub.on('GET', '/v1/jobs/17', ok(job))
    text = c.run('show', '17').stdout
    for part in ('24+8', '17.1.0', '0,1', 'started on n1?[2J', 'simulated', 'can be reclaimed'):
        holds(text, part)
    assert '\x1b' not in text
    holds(c.run('show', '17', '--local', env={'TZ': 'Asia/Kolkata'}).stdout,
          '2026-11-30T21:26:07+05:30')


@test
def why_tells_scripts_by_its_status(c):
    c.stub.on('GET', '/v1/jobs/17', ok(dict(JOB, state='queued')))
    for blockers, status in (([], 0), ([{'code': 'why.ahead', 'text': 'x'}], 3),
                             ([{'code': 'why.never', 'text': 'x'}], 4)):
        c.stub.on('GET', '/v1/jobs/17/why', ok({'job': '17', 'state': 'queued', 'summary': 's',
                                               'blockers': blockers}))
        same(c.run('why', '17').returncode, status, blockers)


# ---- submitting ----

@test
def a_command_is_submitted_whole(c):
    c.stub.on('POST', '/v1/jobs', ok({'job': '17'}, 201))
    r = c.run('submit', '-q', 'research', '--gpus', '4', '--', 'python', 'Train.py', '--gpus', '9',
              env={'HF_TOKEN': 'geheim', 'CUDA_HOME': '/c', 'MUSTER_TOKEN': '', 'SSH_X': 'y'})
    same((r.returncode, r.stdout), (0, 'job 17 submitted to research\n'), r.stderr)
    request = c.stub.requests[0]
    body = request.json()
    same(body['command'], ['python', 'Train.py', '--gpus', '9'])
    same((body['gpus'], body['queue'], body['name'], body['dir']),
         (4, 'research', 'python', os.path.realpath(c.folder)))
    same(sorted(body['env']), ['CUDA_HOME', 'HOME', 'LANG', 'PATH', 'TZ'])
    assert 'geheim' not in request.body
    assert re.fullmatch('[0-9a-f]{32}', request.headers['Idempotency-Key'])
    same(c.run('submit', '--parsable', '--', 'true').stdout, '17\n')
    same(json.loads(c.run('submit', '-o', 'json', '--', 'true').stdout), {'job': '17'})


@test
def a_script_is_submitted_with_its_lines(c):
    c.stub.on('POST', '/v1/jobs', ok({'job': '17'}, 201))
    script = '#!/bin/sh\n#MUSTER --gpus 4 --queue research\n#MUSTER -e LANG=C\necho "$@"\n'
    c.write('train.sh', script)
    r = c.run('submit', '--gpus', '8', 'train.sh', '--lr', '1', env={'MUSTER_QUEUE': 'other'})
    same((r.returncode, r.stdout), (0, 'job 17 submitted to research\n'), r.stderr)
    body = c.stub.requests[0].json()
    same((body['script'], body['args'], body['gpus'], body['queue'], body['name']),
         (script, ['--lr', '1'], 8, 'research', 'train'))
    same(body['env']['LANG'], 'C')
    c.run('submit', '--', 'true', env={'MUSTER_QUEUE': 'other'})
    same(c.stub.requests[1].json()['queue'], 'other')


@test
def a_job_file_is_submitted(c):
    c.stub.on('POST', '/v1/jobs', ok({'jobs': ['18', '19'], 'array': '18'}, 201))
    text = 'queue: a\ngroups:\n- gpus: 1\n- share: 0.5\ncommand: [true]\narray: 0-1\n'
    r = c.run('submit', '-f', '-', input=text)
    same((r.returncode, r.stdout), (0, '2 jobs (array 18) submitted to a\n'), r.stderr)
    body = c.stub.requests[0].json()
    same(body['groups'], [{'gpus': 1}, {'share': '0.5'}])
    same(body['command'], ['true'])
    path = c.write('j.yml', text)
    same(c.run('submit', '--parsable', path).stdout, '18\n19\n')
    r = c.run('submit', path, 'word')
    same(r.returncode, 2)
    r = c.run('submit', c.write('bad.yaml', 'gpu: 1\n'))
    same((r.returncode, r.stderr),
         (2, "muster: request.unknown_field: %s/bad.yaml:1:1: no field 'gpu' in a job\n" % c.folder))
    r = c.run('submit', 'none.sh')
    same(r.returncode, 5)


@test
def secrets_are_refused(c):
    r = c.run('submit', '-e', 'HF_TOKEN', '--', 'true', env={'HF_TOKEN': 'geheim'})
    same(r.returncode, 2)
    assert 'geheim' not in r.stderr
    same(c.stub.requests, [])


@test
def a_broken_connection_submits_once(c):
    count = []

    def drop_once(request):
        count.append(1)
        return 'drop' if len(count) == 1 else ok({'job': '17'}, 201)
    c.stub.on('POST', '/v1/jobs', drop_once)
    r = c.run('submit', '--parsable', '--', 'true')
    same((r.returncode, r.stdout), (0, '17\n'), r.stderr)
    keys = {r.headers['Idempotency-Key'] for r in c.stub.requests}
    same((len(c.stub.requests), len(keys)), (2, 1))


@test
def a_dry_run_only_asks(c):
    c.stub.on('POST', '/v1/jobs', ok({'would': 'wait', 'why': {
        'state': 'queued', 'summary': 's', 'blockers': [{'code': 'why.ahead', 'text': 'x'}]}}))
    r = c.run('submit', '--dry-run', '--', 'true')
    same(r.returncode, 3)
    same(c.stub.requests[0].query, {'dry_run': 'true'})
    holds(r.stdout, 'would wait')


# ---- staying with a job ----

def life(c, states, logs=('hello\n',), events=()):
    """A stub job that goes through the states, one each time it is asked."""
    asked = []

    def show(request):
        asked.append(1)
        return ok(states[min(len(asked), len(states)) - 1])

    def log(request):
        if request.query['stream'] == 'stderr':
            return iter([])
        return iter([piece for piece in logs])

    def stream(request):
        for piece in events:
            yield piece
        for _ in range(100):
            time.sleep(0.1)
            yield event(9, 'task_running', 'a beat')
    c.stub.on('GET', '/v1/version', ok({'version': '0', 'api': 'v1', 'journal_seq': '7'}))
    c.stub.on('POST', '/v1/jobs', ok({'job': '17'}, 201))
    c.stub.on('GET', '/v1/jobs/17', show)
    c.stub.on('GET', '/v1/jobs/17/logs', log)
    c.stub.on('GET', '/v1/events', stream)
    c.stub.on('POST', '/v1/jobs/17/cancel', ok({'job': '17', 'seq': '9'}))


def ended(state, status=0, sig=0):
    return dict(JOB, state=state, ended_ms=2, exit={'status': status, 'signal': sig})


@test
def run_shows_the_logs_and_ends_as_the_job(c):
    for last, status in ((ended('succeeded'), 0), (ended('failed', 3), 3),
                         (ended('failed', 0, 9), 137), (ended('cancelled', 0, 15), 143),
                         (ended('cancelled'), 130), (ended('failed'), 1)):
        life(c, [dict(JOB, state='queued'), JOB, last], ['one\n', 'two\n'],
             [event(8, 'job_started', 'starts on n1'), event(9, 'attempt_ended', 'it ended')])
        r = c.run('run', '--', 'true')
        same(r.returncode, status, r.stderr)
        same(r.stdout, 'one\ntwo\n')
        holds(r.stderr, 'muster: starts on n1\n')
    same(c.stub.asked('GET', '/v1/events')[0].query, {'job': '17', 'from': '7'})


@test
def a_broken_log_goes_on_where_it_broke(c):
    life(c, [JOB] * 4 + [ended('succeeded')])
    asked = []

    def log(request):
        if request.query['stream'] == 'stderr':
            return iter([])
        asked.append(request.query.get('from'))
        return iter(['half a li', None]) if len(asked) == 1 else iter(['ne\nend\n'])
    c.stub.on('GET', '/v1/jobs/17/logs', log)
    r = c.run('logs', '-f', '17')
    same((r.returncode, r.stdout), (0, 'half a line\nend\n'), r.stderr)
    same(asked, [None, '9'])


@test
def a_followed_tail_goes_on_behind_itself(c):
    life(c, [JOB] * 4 + [ended('succeeded')])
    asked = []

    def log(request):
        asked.append(request.query)
        whole = 'one\ntwo\nthree\nfour\n'
        return iter([whole] if 'follow' not in request.query else [whole[int(
            request.query['from']):] + 'five\n'])
    c.stub.on('GET', '/v1/jobs/17/logs', log)
    r = c.run('logs', '-f', '-n', '2', '17')
    same((r.returncode, r.stdout), (0, 'three\nfour\nfive\n'), r.stderr)
    same(c.run('logs', '-f', '-n', '0', '17').stdout, 'five\n')
    same(c.run('logs', '-f', '-n', '9', '17').stdout, 'one\ntwo\nthree\nfour\nfive\n')


@test
def broken_events_go_on_after_the_last_one(c):
    asked = []

    def stream(request):
        asked.append(request.headers.get('Last-Event-ID'))
        if len(asked) == 1:
            return iter([event(1, 'k', 'one'), 'id: 2\nevent: k\nda', None])
        return iter([event(2, 'k', 'two'), None])
    c.stub.on('GET', '/v1/version', ok({'journal_seq': '1'}))
    c.stub.on('GET', '/v1/events', stream)
    p = c.start('journal', 'tail', '-f')
    wait_for(lambda: len(asked) >= 3)
    p.terminate()
    out, _ = p.communicate(timeout=60)
    same([line.split('  ')[1] for line in out.splitlines()], ['one', 'two'])
    same(asked[:3], [None, '1', '2'])


@test
def all_ranks_are_shown_with_their_number(c):
    life(c, [dict(JOB, tasks_want=2)] * 3 + [ended('succeeded')])
    r = c.run('run', '--all', 'true')
    same(sorted(r.stdout.splitlines()), ['[0] hello', '[1] hello'], r.stderr)


@test
def a_new_attempt_is_followed(c):
    again = dict(JOB, attempt=2)
    life(c, [JOB, dict(JOB, state='queued'), again, again, ended('succeeded')])
    c.stub.on('GET', '/v1/jobs/17/logs', lambda r: iter(
        ['attempt %s\n' % r.query['attempt']] if r.query['stream'] == 'stdout' else []))
    r = c.run('run', 'true')
    same(r.stdout, 'attempt 1\nattempt 2\n', r.stderr)


@test
def detached_it_returns_at_once(c):
    life(c, [JOB])
    r = c.run('run', '-d', '--parsable', 'sleep', '100')
    same((r.returncode, r.stdout), (0, '17\n'))


@test
def submit_waits_for_the_end(c):
    life(c, [JOB, ended('failed', 5)])
    r = c.run('submit', '--wait', '--parsable', '--', 'false')
    same((r.returncode, r.stdout), (5, '17\n'), r.stderr)


@test
def without_a_terminal_a_signal_cancels(c):
    life(c, [JOB])
    p = c.start('run', 'sleep', '100')
    wait_for(lambda: c.stub.asked('GET', '/v1/events'))
    p.send_signal(signal.SIGINT)
    wait_for(lambda: c.stub.asked('POST', '/v1/jobs/17/cancel'))
    c.stub.on('GET', '/v1/jobs/17', ok(ended('cancelled', 0, 15)))
    _, err = p.communicate(timeout=60)
    same(p.returncode, 143, err)


class Terminal:
    """`muster run` on a terminal."""

    def __init__(self, c):
        self.screen = ''
        c.stub.requests.clear()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(MUSTER, [MUSTER, 'run', 'sleep', '100'], c.env)
        wait_for(lambda: c.stub.asked('GET', '/v1/events'))

    def type(self, text):
        os.write(self.fd, text.encode())

    def ctrl_c_and_wait(self):
        self.type('\x03')
        while '[c]ontinue' not in self.screen:
            self.screen += os.read(self.fd, 4096).decode()

    def end(self):
        try:
            while True:
                self.screen += os.read(self.fd, 4096).decode()
        except OSError:  # the other side is closed
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


@test
def ctrl_c_asks_and_yes_cancels(c):
    def cancel(request):
        c.stub.on('GET', '/v1/jobs/17', ok(ended('cancelled', 0, 15)))
        return ok({'job': '17', 'seq': '9'})
    life(c, [JOB])
    c.stub.on('POST', '/v1/jobs/17/cancel', cancel)
    t = Terminal(c)
    t.ctrl_c_and_wait()
    t.type('y\n')
    same(t.end(), 143, t.screen)
    same(len(c.stub.asked('POST', '/v1/jobs/17/cancel')), 1)


@test
def ctrl_c_and_c_continues(c):
    life(c, [JOB])
    t = Terminal(c)
    t.ctrl_c_and_wait()
    t.type('what\nc\n')
    c.stub.on('GET', '/v1/jobs/17', ok(ended('failed', 3)))
    same(t.end(), 3, t.screen)
    same(c.stub.asked('POST', '/v1/jobs/17/cancel'), [])


@test
def ctrl_c_and_d_or_a_second_ctrl_c_detaches(c):
    for answer in ('d\n', '\x03'):
        life(c, [JOB])
        t = Terminal(c)
        t.ctrl_c_and_wait()
        t.type(answer)
        same(t.end(), 0, t.screen)
        holds(t.screen, 'job 17 goes on')
        same(c.stub.asked('POST', '/v1/jobs/17/cancel'), [])


@test
def logs_are_the_bytes_as_they_are(c):
    c.stub.on('GET', '/v1/jobs/17/logs', (200, 'text/plain', 'a\x1b[1mb\n\x00c'))
    r = c.run('logs', '--task', '3', '--attempt', '2', '--stderr', '-n', '5', '17')
    same(r.stdout, 'a\x1b[1mb\n\x00c')
    same(c.stub.requests[0].query, {'task': '3', 'attempt': '2', 'stream': 'stderr', 'tail': '5'})
    r = c.run('logs', '18')
    same(r.returncode, 5)


# ---- asking ----

@test
def several_jobs_are_asked_and_the_first_failure_counts(c):
    c.stub.on('POST', '/v1/jobs/1/cancel', ok({'job': '1', 'seq': '9'}))
    c.stub.on('POST', '/v1/jobs/2/cancel', problem(409, 'job.wrong_state', 'job 2 has ended'))
    c.stub.on('POST', '/v1/jobs/3_4/cancel', ok({'job': '3_4', 'seq': '10'}))
    r = c.run('cancel', '-r', 'mistake', '1', '2', '3_4')
    same(r.returncode, 7)
    same(r.stdout, 'job 1: cancel noted (journal 9)\njob 3_4: cancel noted (journal 10)\n')
    same(c.stub.requests[0].json(), {'reason': 'mistake'})
    for verb in ('hold', 'release', 'requeue'):
        c.stub.on('POST', '/v1/jobs/1/' + verb, ok({'job': '1', 'seq': '9'}))
        same(c.run(verb, '1').returncode, 0)


@test
def a_job_speaks_with_its_own_token(c):
    c.stub.on('POST', '/v1/jobs/17/done', ok({'job': '17', 'seq': '9'}))
    c.stub.on('POST', '/v1/jobs/17/checkpoint', ok({'job': '17', 'seq': '9'}))
    token = c.write('token', 'mst_task\n')
    os.chmod(token, 0o600)
    inside = {'MUSTER_TOKEN_FILE': token, 'MUSTER_JOB': '17'}
    same(c.run('done', env=inside).returncode, 0)
    same(c.run('checkpoint', 'step-100', env=inside).returncode, 0)
    same(c.stub.requests[0].headers['Authorization'], 'Bearer mst_task')
    same(c.stub.requests[1].json(), {'name': 'step-100'})
    r = c.run('done')
    same(r.returncode, 2)
    holds(r.stderr, 'inside a job')


@test
def nodes_are_drained_and_resumed(c):
    c.stub.on('POST', '/v1/nodes/n1/drain', ok({'seq': '9'}))
    c.stub.on('POST', '/v1/nodes/n1/resume', ok({'seq': '9'}))
    r = c.run('node', 'drain', 'n1', '--by', '2026-12-01T18:00:00Z', '--reason', 'fan')
    same(r.returncode, 0, r.stderr)
    same(c.stub.requests[0].json(), {'by_ms': 1796148000000, 'reason': 'fan'})
    same(c.run('node', 'resume', 'n1').returncode, 0)


@test
def a_policy_is_planned_before_it_is_applied(c):
    plan = {'changes': [{'what': 'queue a reserve', 'from': '8', 'to': '4'}],
            'effects': [{'job': '17', 'text': 'can be reclaimed'}], 'text': ''}
    c.stub.on('POST', '/v1/policy/plan', ok(plan))
    c.stub.on('POST', '/v1/policy/apply', ok({'seq': '12', 'changes': []}))
    c.stub.on('POST', '/v1/policy/check', problem(422, 'policy.invalid', 'p.yaml:1:1: no'))
    path = c.write('p.yaml', 'cluster: x\n')
    r = c.run('policy', 'plan', path)
    holds(r.stdout, 'queue a reserve: 8 -> 4')
    holds(r.stdout, 'job 17: can be reclaimed')
    r = c.run('policy', 'apply', path)
    same(r.returncode, 2)
    holds(r.stderr, 'say -y')
    same(c.stub.asked('POST', '/v1/policy/apply'), [])
    r = c.run('policy', 'apply', '-y', path)
    same((r.returncode, r.stdout), (0, 'policy applied (journal 12)\n'))
    same(c.stub.asked('POST', '/v1/policy/apply')[0].json(), {'yaml': 'cluster: x\n', 'file': path})
    r = c.run('policy', 'check', path)
    same((r.returncode, r.stderr), (2, 'muster: policy.invalid: p.yaml:1:1: no\n'))


@test
def the_journal_is_shown_verified_and_exported(c):
    records = [{'seq': str(i), 'at_ms': 1796054167000, 'kind': 'k', 'text': 't%d' % i}
               for i in range(1, 31)]
    c.stub.on('GET', '/v1/version', ok({'journal_seq': '30'}))
    c.stub.on('GET', '/v1/journal', lambda r: ok(
        {'items': records[int(r.query['from']) - 1:], 'next': None}))
    c.stub.on('GET', '/v1/journal/3', ok(records[2]))
    c.stub.on('POST', '/v1/journal/verify', ok({'records': 30, 'ok': True, 'hash': 'ab'}))
    c.stub.on('GET', '/v1/journal/export', (200, 'application/x-ndjson', '{"seq":"1"}\n'))
    same(c.run('journal', 'tail', '-n', '2', '-o', 'name').stdout, '29\n30\n')
    same(len(c.run('journal', 'tail').stdout.splitlines()), 21)
    holds(c.run('journal', 'show', '3').stdout, 'seq: "3"')
    holds(c.run('journal', 'verify').stdout, '30 records')
    same(c.run('journal', 'export').stdout, '{"seq":"1"}\n')
    same(c.run('journal', 'export', '--to', 'x').returncode, 0)
    same(open(c.folder + '/x').read(), '{"seq":"1"}\n')
    same(c.run('journal', 'export', '--to', 'x').returncode, 1)


@test
def tokens_are_shown_once_or_kept_for_the_owner(c):
    c.stub.on('POST', '/v1/tokens', ok({'token': 'mst_x', 'id': 't1', 'expires_ms': 1796054167000},
                                       201))
    c.stub.on('DELETE', '/v1/tokens/t1', ok({}))
    c.stub.on('GET', '/v1/whoami', ok({'subject': 's1', 'name': 'ada', 'roles': ['read']}))
    r = c.run('token', 'create', 'ci', '--role', 'read', '--role', 'submit', '--ttl', '30d')
    same(r.stdout, 'mst_x\n')
    same(c.stub.requests[0].json(), {'name': 'ci', 'roles': ['read', 'submit'], 'ttl': '30d'})
    r = c.run('token', 'create', 'ci', '--save')
    same((r.returncode, r.stdout), (0, ''), r.stderr)
    path = c.folder + '/.config/muster/token'
    same(os.stat(path).st_mode & 0o777, 0o600)
    r = c.run('whoami', env={'MUSTER_SERVER': c.stub.url, 'http_proxy': 'http://127.0.0.1:1'})
    same(r.returncode, 0, r.stderr)
    same(c.stub.asked('GET', '/v1/whoami')[0].headers['Authorization'], 'Bearer mst_x')
    os.chmod(path, 0o644)
    r = c.run('whoami', env={'MUSTER_SERVER': c.stub.url})
    same(r.returncode, 6)
    same(c.run('token', 'revoke', 't1').returncode, 0)


@test
def who_mistypes_is_told_what_may_be_meant(c):
    for words, part in ((['sumbit'], "no command 'sumbit'; did you mean `muster submit`?"),
                        (['squeue'], 'did you mean `muster ps`?'),
                        (['queue', 'lst'], "no command 'queue lst'; did you mean `muster queue list`?"),
                        (['queue', 'foo'], "no command 'queue foo'; `muster help queue` lists them"),
                        (['foo'], "no command 'foo'; `muster help` lists them"),
                        (['--foo'], "no option '--foo' before a command"),
                        (['ps', '--fromat', 'json'],
                         "ps has no option '--fromat'; did you mean --format?  See `muster ps --help`"),
                        (['submit', '--queeu=a', '--', 'x'], 'did you mean --queue?'),
                        (['ps', '--xyz'], "unrecognized option '--xyz'; see `muster ps --help`")):
        r = c.run(*words)
        same(r.returncode, 2, words)
        same(r.stderr.count('\n'), 1, r.stderr)
        assert r.stderr.startswith('muster: request.invalid: '), r.stderr
        holds(r.stderr, part)


# ---- help ----

def tables(c):
    rows = [line.split('\t') for line in c.run('help', '--tables').stdout.splitlines()]
    return [name for name, option in rows if name and not option], \
        sorted({option for _, option in rows if option})


@test
def every_command_explains_itself(c):
    names, _ = tables(c)
    assert len(names) > 30, names
    for name in names:
        if name in ('sim', 'demo'):
            continue
        r = c.run(*name.split(), '--help')
        same(r.returncode, 0, name)
        holds(r.stdout, 'Usage: muster %s' % name)
        same(c.run('help', *name.split()).stdout.splitlines()[:4], r.stdout.splitlines()[:4], name)
    holds(c.run('help').stdout, 'journal verify')
    same(c.run('why', '-h').returncode, 0)


@test
def the_manual_page_has_every_command_and_option(c):
    page = open(os.path.join(ROOT, 'man/muster.1')).read().replace('\\-', '-')
    names, options = tables(c)
    for name in names:
        assert re.search(r'^\.SS %s\b' % re.escape(name), page, re.M), 'man: no ' + name
    for option in options:
        holds(page, option)
    if shutil.which('groff'):
        for name in sorted(os.listdir(os.path.join(ROOT, 'man'))):
            if name in ('muster.1', 'muster-job.5'):
                r = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z',
                                    os.path.join(ROOT, 'man', name)], stderr=subprocess.PIPE)
                same(r.stderr.decode(), '', name)


@test
def the_job_file_page_has_every_field(c):
    page = open(os.path.join(ROOT, 'man/muster-job.5')).read().replace('\\-', '-')
    text = open(os.path.join(ROOT, 'src/cli/jobspec.h')).read()
    for field in re.findall(r'X\(\w+,(?:[^"]*"){1,5}?[^"]*"([a-z_]+)", [A-Z]+, (?:true|false)',
                            text.replace('\\\n', '')):
        assert re.search(r'^\.B %s$' % field, page, re.M), 'man: no field ' + field


@test
def completion_is_a_valid_script(c):
    script = c.run('completion', 'bash').stdout
    path = os.path.dirname(MUSTER) + ':' + os.environ['PATH']
    r = subprocess.run(['bash', '-c', script + '''
        COMP_WORDS=(muster queue l); COMP_CWORD=2; _muster; echo "${COMPREPLY[@]}"
        COMP_WORDS=(muster jou); COMP_CWORD=1; _muster; echo "${COMPREPLY[@]}"
        COMP_WORDS=(muster submit --min); COMP_CWORD=2; _muster; echo "${COMPREPLY[@]}"'''],
                       env=dict(c.env, PATH=path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    same((r.stdout, r.stderr), ('list\njournal\n--min-tasks\n', ''))
    same(c.run('completion', 'fish').returncode, 0)
    same(c.run('completion', 'zsh').returncode, 0)


@test
def version_says_which_server(c):
    r = c.run('version')
    same(r.returncode, 5)
    c.stub.on('GET', '/v1/version', ok({'version': '0.1.0', 'api': 'v1', 'simulate': True}))
    holds(c.run('version').stdout, 'with simulated GPUs')
    same(json.loads(c.run('version', '--json').stdout)['server']['api'], 'v1')
    same(c.run('--version').returncode, 0)


@test
def programs_beside_it_are_run(c):
    path = c.write('muster-sim', '#!/bin/sh\necho "$@"\nexit 9\n')
    os.chmod(path, 0o755)
    r = c.run('sim', 'case', '--seed', '1', '-o', 'x', env={'MUSTER_LIBEXEC': c.folder})
    same((r.returncode, r.stdout), (9, 'case --seed 1 -o x\n'))
    path = c.write('muster-journal', '#!/bin/sh\necho "$@"\n')
    os.chmod(path, 0o755)
    r = c.run('journal', 'verify', '/x/journal.db', env={'MUSTER_LIBEXEC': c.folder})
    same(r.stdout, 'verify /x/journal.db\n')


@test
def the_page_of_slurm_scripts_is_the_table(c):
    with open(ROOT + '/src/cli/sbatchoption.h') as file:
        rows = re.findall(r'X\(\w+, (?:0|\'(.)\'), "([\w-]+)", \w+, (\w+),\s*"([^"]*)"\)',
                          file.read().replace('\\\n', '\n'))
    with open(ROOT + '/doc/slurm-scripts.md') as file:
        parts = dict(zip(('TAKEN', 'IDLE', 'REFUSED'), file.read().split('|---|---|\n')[1:]))
    assert len(rows) > 90
    for letter, name, fate, phrase in rows:
        cell = '| `--%s`%s | ' % (name, ', `-%s`' % letter if letter else '')
        holds(parts[fate], cell if fate == 'TAKEN' else cell + phrase + ' |')
    same(sum(('\n' + part).count('\n| `--') for part in parts.values()), len(rows))


def play(story):
    folder = tempfile.mkdtemp(prefix='muster-cli-')
    try:
        with Stub(folder) as stub:
            story(Case(stub, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(1 if tell(play, sys.argv[3:]) else 0)
