#!/usr/bin/env python3
"""The local backend under kill -9: of the process that owns it, of supervisors, of both; on a full
disk; with a task that writes without end; and with a stand-in for systemd-run.

    local_restarts.py HOST SHEPHERD      (HOST is local_host.c)
"""
import glob
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HOST, SHEPHERD = map(os.path.abspath, sys.argv[1:3])
WAIT_S = 60
FILE_BYTES = 16 * 1024 * 1024  # of a log, before the next file of it begins


class Skip(Exception):
    pass


class Host:
    """One life of the process that owns the backend, in a place that outlives it."""

    def __init__(self, place, systemd_run='', cgroup='muster-test', prefix=()):
        self.process = subprocess.Popen(
            [*prefix, HOST, place + '/state', place + '/run', SHEPHERD, systemd_run, cgroup],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self.read, daemon=True).start()
        self.expect('ready')

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip('\n'))
        self.lines.put(None)

    def order(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()

    def expect(self, wanted, count=1):
        """The lines that begin with what is wanted, once there are as many."""
        found = [line for line in self.seen if line.startswith(wanted)]
        deadline = time.monotonic() + WAIT_S
        while len(found) < count:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError('%d of %d "%s" in %s' % (len(found), count, wanted, self.seen))
            if line is None:
                raise AssertionError('the owner ended: %s' % self.seen)
            self.seen.append(line)
            if line.startswith(wanted):
                found.append(line)
        return found

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def wait_for(what, says):
    deadline = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < deadline, says
        time.sleep(0.01)


def lives(pid):
    try:
        with open('/proc/%d/stat' % pid) as stat:
            return stat.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


def number(path):
    wait_for(lambda: os.path.exists(path) and open(path).read().strip(), path + ' has no number')
    return int(open(path).read())


def shepherds(place):
    """pid of the supervisor by control directory."""
    found = {}
    for name in glob.glob(place + '/state/attempts/*/*.*/shepherd.json'):
        found[name] = json.load(open(name))['pid']
    return found


def jobs_survive_a_killed_owner(place):
    host = Host(place)
    host.order('start 1 1 1 24 - echo $$ > $MUSTER_CHECKPOINT_DIR/$RANK; '
               'while [ ! -e %s/go ]; do sleep 0.1; done; exit $RANK' % place)
    host.expect('running', 24)
    host.kill()
    assert len(shepherds(place)) == 24
    assert all(lives(pid) for pid in shepherds(place).values()), 'a supervisor died'
    host = Host(place)
    host.order('adopt 1 1 0 24')
    open(place + '/go', 'w').close()
    ends = sorted(int(line.split()[3]) for line in host.expect('ended', 24))
    assert ends == list(range(24)), ends
    host.order('forget 1 1')
    host.expect('ok', 2)
    assert not os.path.exists(place + '/state/attempts/1.1')
    assert not os.listdir(place + '/run'), os.listdir(place + '/run')
    host.close()


def ends_without_an_owner_are_kept(place):
    host = Host(place)
    host.order('start 1 1 1 4 - sleep 0.3; kill -USR1 $$')
    host.expect('running', 4)
    host.kill()
    wait_for(lambda: len(glob.glob(place + '/state/attempts/1.1/*/exit.json')) == 4, 'no records')
    wait_for(lambda: not any(lives(p) for p in shepherds(place).values()), 'supervisors stay')
    for _ in range(2):  # twice: a record stays until it is forgotten
        host = Host(place)
        host.order('adopt 1 1 0 4')
        ends = host.expect('ended', 4)
        assert all(line.endswith('signalled %d' % signal.SIGUSR1) for line in ends), ends
        host.kill()


def a_killed_supervisor_and_owner_leave_nothing(place):
    host = Host(place)
    host.order('start 1 1 1 1 - setsid sh -c "trap : TERM HUP INT; echo \\$\\$ > '
               '$MUSTER_CHECKPOINT_DIR/pid; while :; do sleep 0.1; done" & wait')
    host.expect('running')
    pid = number(place + '/state/checkpoints/1/pid')
    host.kill()
    os.kill(list(shepherds(place).values())[0], signal.SIGKILL)
    assert lives(pid)
    host = Host(place)
    host.order('adopt 1 1 0 1')
    assert host.expect('ended') == ['ended 0 lost 0']
    assert not lives(pid)
    host.close()


def a_stray_without_environment_is_found_by_its_group(place):
    if os.geteuid() != 0 or not os.path.isdir('/sys/fs/cgroup/unified') and \
            not os.path.exists('/sys/fs/cgroup/cgroup.controllers'):
        raise Skip('no cgroup v2 that may be written')
    host = Host(place)
    host.order('start 1 1 1 1 - env -i setsid sh -c "echo \\$\\$ > '
               '$MUSTER_CHECKPOINT_DIR/pid; exec sleep 1000" & wait')
    host.expect('running')
    pid = number(place + '/state/checkpoints/1/pid')
    if not json.load(open(list(shepherds(place))[0]))['cgroup']:
        raise Skip('no cgroup v2 that may be written')
    os.kill(list(shepherds(place).values())[0], signal.SIGKILL)
    assert host.expect('ended') == ['ended 0 lost 0']
    assert not lives(pid)
    host.close()


def a_tree_that_forks_without_end_is_killed(place):
    host = Host(place, cgroup='')
    # Each child forks two and ends: a tree of fixed width that never holds still.
    host.order('start 1 1 1 1 - f() { sleep 0.02; f & }; for i in 1 2 3 4 5 6; do f & done; '
               'exec sleep 1000')
    host.expect('running')
    time.sleep(0.3)
    host.order('kill 1 1')
    assert host.expect('ended') == ['ended 0 signalled 9']
    host.close()


def size_of(path):
    """0 for a log that was turned over since it was listed."""
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def a_flood_of_output_is_bounded_and_obeys(place):
    host = Host(place)
    host.order('start 1 1 1 1 - exec yes 0123456789012345678901234567890123456789')
    host.expect('running')

    def total():
        return sum(size_of(p) for p in glob.glob(place + '/state/logs/1/*'))
    wait_for(lambda: total() > 3 * FILE_BYTES, 'there is no flood')
    time.sleep(1)  # for as much again, if nothing bounded it
    assert total() <= 4 * FILE_BYTES, total()
    host.order('signal 1 1 15 1')
    assert host.expect('ended') == ['ended 0 signalled 15']
    host.close()


def a_full_disk_loses_no_end(place):
    os.mkdir(place + '/state')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4m,mode=711', 'none', place + '/state'],
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip('no file system can be mounted')
    try:
        host = Host(place)
        host.order('start 1 1 1 1 - while [ ! -e %s/go ]; do sleep 0.05; done; echo lost; exit 6'
                   % place)
        host.expect('running')
        with open(place + '/state/ballast', 'wb', buffering=0) as ballast:
            try:
                while True:
                    ballast.write(b'x' * 4096)
            except OSError:
                pass
        supervisor = list(shepherds(place).values())[0]
        open(place + '/go', 'w').close()
        assert host.expect('ended') == ['ended 0 exited 6']
        assert lives(supervisor) and not glob.glob(place + '/state/attempts/1.1/*/exit.json')
        host.kill()
        host = Host(place)
        host.order('adopt 1 1 0 1')
        assert host.expect('ended') == ['ended 0 exited 6'], 'told from memory'
        os.unlink(place + '/state/ballast')
        wait_for(lambda: glob.glob(place + '/state/attempts/1.1/*/exit.json'), 'no record')
        wait_for(lambda: not lives(supervisor), 'the supervisor stays')
        host.close()
    finally:
        subprocess.run(['umount', '-l', place + '/state'], check=True)


def with_systemd_the_supervisor_is_a_unit(place):
    fake = place + '/systemd-run'
    with open(fake, 'w') as script:
        script.write('#!/bin/sh\necho "$@" >> %s/units\n'
                     'while [ "$1" != -- ]; do shift; done; shift\n'
                     'setsid "$@" < /dev/null > /dev/null 2>&1 &\n' % place)
    os.chmod(fake, 0o755)
    host = Host(place, systemd_run=fake)
    host.order('start 1 1 1 2 - exit 3')
    assert sorted(host.expect('ended', 2)) == ['ended 0 exited 3', 'ended 1 exited 3']
    units = open(place + '/units').read()
    assert '--unit=muster-task-1.1.0.1-' in units and '--property=Delegate=yes' in units, units
    host.close()


def a_unit_that_cannot_be_made_refuses_the_task(place):
    host = Host(place, systemd_run='/bin/false')
    host.order('start 1 1 1 1 - exit 3')
    assert host.expect('refused')[0].startswith('refused 0 the supervisor ended before')
    host.close()


def without_root_other_accounts_are_refused(place):
    if os.geteuid() != 0 or shutil.which('setpriv') is None:
        raise Skip('needs root and setpriv')
    os.chmod(place, 0o777)
    shepherd_dir = os.path.dirname(SHEPHERD)
    if subprocess.run(['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', 'ls',
                       shepherd_dir], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip('the build folder is closed to other accounts')
    host = Host(place, prefix=('setpriv', '--reuid', '65534', '--regid', '65534',
                               '--clear-groups'))
    host.order('start 1 1 1 1 root id')
    assert 'not as root' in host.expect('refused')[0]
    host.order('start 2 1 1 1 - test $(id -u) = 65534')
    assert host.expect('ended') == ['ended 0 exited 0']
    host.order('forget 2 1')
    host.order('forget 1 1')
    host.expect('ok', 2)
    host.close()
    for below in ('/state', '/run'):
        shutil.rmtree(place + below)


def limits_hold_where_the_host_has_them(place):
    host = Host(place)
    if not any('memory limited' in line for line in host.seen):
        raise Skip('the controllers of cgroup v2 are not there')
    host.order('limits 0 0 67108864 2000')
    host.order('start 1 1 1 1 - x=$(yes 0123456789 | head -c 100000000); echo survived')
    assert host.expect('ended 0') == ['ended 0 signalled 9']
    assert 'memory limit' in open(place + '/state/logs/1/1.0.stderr').read()
    host.order('start 2 1 1 1 - i=0; while [ $i -lt 300 ]; do sleep 30 & i=$((i+1)); done; wait')
    host.expect('ended 0', 2)
    assert 'fork' in open(place + '/state/logs/2/1.0.stderr').read()
    host.order('start 3 1 1 1 - cat /proc/self/cgroup; group=/sys/fs/cgroup$(sed s/0::// '
               '/proc/self/cgroup); cat $group/memory.max $group/pids.max $group/cpu.max '
               '$group/cpu.weight')
    host.expect('ended 0', 3)
    log = open(place + '/state/logs/3/1.0.stdout').read().split('\n')
    assert log[1:5] == ['67108864', '200', '200000 100000', '200'], log
    host.close()


def sixty_four_tasks_start_quickly(place):
    host = Host(place)
    host.order('start 1 1 1 64 - exec sleep 1000')
    took_ms = int(host.expect('started')[0].split()[1])
    host.expect('running', 64)
    host.order('kill 1 1')
    host.expect('ended', 64)
    print('# 64 tasks: start took %d ms' % took_ms)
    assert took_ms < 60000, took_ms
    host.close()


STORIES = [
    jobs_survive_a_killed_owner,
    ends_without_an_owner_are_kept,
    a_killed_supervisor_and_owner_leave_nothing,
    a_stray_without_environment_is_found_by_its_group,
    a_tree_that_forks_without_end_is_killed,
    a_flood_of_output_is_bounded_and_obeys,
    a_full_disk_loses_no_end,
    with_systemd_the_supervisor_is_a_unit,
    a_unit_that_cannot_be_made_refuses_the_task,
    without_root_other_accounts_are_refused,
    limits_hold_where_the_host_has_them,
    sixty_four_tasks_start_quickly,
]


def tell(story, place):
    """TAP's words for one story; what it left running is killed."""
    try:
        story(place)
        return 'ok', ''
    except Skip as why:
        return 'ok', ' # SKIP %s' % why
    except Exception as why:  # pylint: disable=broad-except
        print('# %s: %s' % (type(why).__name__, why))
        return 'not ok', ''
    finally:
        try:
            host = Host(place)
            host.order('adopt 99 1 0 0')
            wait_for(lambda: not os.listdir(place + '/state/attempts'), 'attempts stay')
            host.close()
        except (AssertionError, OSError) as why:
            print('# clearing up: %s' % why)


def main():
    print('1..%d' % len(STORIES))
    failed = 0
    for number_, story in enumerate(STORIES, 1):
        place = tempfile.mkdtemp(prefix='muster-it-')
        os.chmod(place, 0o755)
        word, directive = tell(story, place)
        shutil.rmtree(place, ignore_errors=True)
        failed += word != 'ok'
        print('%s %d - %s%s' % (word, number_, story.__name__, directive), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
