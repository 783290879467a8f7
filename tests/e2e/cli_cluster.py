"""A musterd of its own with simulated GPUs, for stories about the command line; the programs are the
first three words: MUSTER MUSTERD SHEPHERD."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile

from cli_stories import same, tell, wait_for

MUSTER, MUSTERD, SHEPHERD = [os.path.abspath(path) for path in sys.argv[1:4]]

POLICY = '''
cluster:
  name: test
pools:
  - name: gpu
    nodes:
      - {name: "n[1-2]", gpus: 8, model: h100-80gb, simulated: true, cpus: 64, memory: 1Ti}
queues:
  - name: a
    reserved: {gpu: 8}
  - name: b
    reserved: {gpu: %d}
users:
  - {name: USER, account: self, roles: [submit, operator, admin, auditor], queues: [a, b]}
'''


class Cluster:
    def __init__(self, folder, policy):
        self.folder = folder
        self.text = policy
        self.env = {'PATH': os.path.dirname(MUSTER) + ':' + os.environ['PATH'], 'HOME': folder,
                    'MUSTER_SOCKET': os.path.join(folder, 's'), 'LANG': 'C.UTF-8', 'TZ': 'UTC'}
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.policy = self.write('muster.yaml', self.policy_text(8))
        self.daemon = None

    def policy_text(self, reserve):
        return (self.text % reserve).replace('USER', pwd.getpwuid(os.geteuid()).pw_name)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w') as file:
            file.write(text)
        return path

    def start(self):
        log = open(os.path.join(self.folder, 'log'), 'a')
        self.daemon = subprocess.Popen(
            [MUSTERD, '--config', self.policy, '--simulate', '--state', self.folder + '/state',
             '--socket', self.env['MUSTER_SOCKET'], '--shepherd', SHEPHERD],
            env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: self.run('version').returncode == 0)

    def stop(self, sig=signal.SIGTERM):
        self.daemon.send_signal(sig)
        self.daemon.wait(20)

    def run(self, *words, **more):
        more.setdefault('stdin', subprocess.DEVNULL)
        return subprocess.run([MUSTER, *words], env=dict(self.env, **more.pop('env', {})),
                              cwd=self.folder, timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **more)

    def begin(self, *words):
        return subprocess.Popen([MUSTER, *words], env=self.env, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def submit(self, *words):
        r = self.run('submit', '--parsable', *words)
        same(r.returncode, 0, r.stderr)
        return r.stdout.strip()

    def job(self, job):
        return json.loads(self.run('show', '-o', 'json', job).stdout)

    def state(self, job):
        return self.job(job)['state']


def play(policy=POLICY):
    """Tell the stories on one cluster; its exit status."""
    folder = tempfile.mkdtemp(prefix='muster-clid-')
    c = Cluster(folder, policy)
    failed = 0
    try:
        c.start()
        failed = tell(lambda story: story(c), sys.argv[4:])
        for job in c.run('ps', '-o', 'name').stdout.split():
            c.run('cancel', job)
        wait_for(lambda: not c.run('ps', '-o', 'name').stdout.split())
        c.stop()
    finally:
        if c.daemon is not None and c.daemon.poll() is None:
            c.daemon.kill()
        if failed:
            with open(os.path.join(folder, 'log')) as log:
                print(''.join('# ' + line for line in log.readlines()[-20:]))
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0
