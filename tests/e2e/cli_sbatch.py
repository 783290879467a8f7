#!/usr/bin/env python3
"""Scripts written for Slurm, submitted as they are: usage: cli_sbatch.py MUSTER MUSTERD SHEPHERD."""
import os
import sys

from cli_cluster import play
from cli_stories import holds, same, test, wait_for


def submit(c, name, text, *words):
    """The id of the job and what the submission said."""
    path = c.write(name, text)
    r = c.run('submit', '--parsable', *words, path)
    same(r.returncode, 0, r.stderr)
    return r.stdout.strip(), r.stderr


def finish(c, job, state='succeeded'):
    wait_for(lambda: c.state(job) in ('succeeded', 'failed', 'cancelled'))
    same(c.state(job), state, c.run('logs', job).stdout + c.run('logs', '--stderr', job).stdout)
    return c.run('logs', job).stdout


@test
def one_gpu_and_the_usual_lines(c):
    job, said = submit(c, 'train.sh', '''#!/bin/bash
#SBATCH --job-name=My_Train
#SBATCH --account=a
#SBATCH --partition=gpu
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --gres=gpu:1
#SBATCH --time=01:00:00
#SBATCH --output=logs-%x-%j.out

# what follows is the job
set -eu
: "${OMP_NUM_THREADS:=$SLURM_CPUS_PER_TASK}"
echo "job $SLURM_JOB_ID of $SLURM_JOB_ACCOUNT in $SLURM_JOB_PARTITION: $SLURM_CPUS_PER_TASK CPUs"
echo "$SLURM_NTASKS task on $SLURM_NNODES node, $SLURM_GPUS_ON_NODE GPU, from $SLURM_SUBMIT_DIR"
echo "$OMP_NUM_THREADS threads"
''')
    same(said, '')
    same(finish(c, job), 'job %s of a in gpu: 4 CPUs\n1 task on 1 node, 1 GPU, from %s\n'
         '4 threads\n' % (job, c.folder))
    same(c.job(job)['name'], 'my-train')
    assert os.path.exists('%s/logs-My_Train-%s.out' % (c.folder, job))


@test
def a_node_with_a_process_for_each_gpu(c):
    job, _ = submit(c, 'ddp.sh', '''#!/bin/bash
#SBATCH -J ddp -A a -N 1 --ntasks-per-node=4 --gres=gpu:4 -c 2 --mem-per-cpu=1G -t 10
echo "script $SLURM_PROCID of $SLURM_NTASKS sees $CUDA_VISIBLE_DEVICES"
srun sh -c 'echo "rank $SLURM_PROCID/$SLURM_NTASKS $SLURM_LOCALID sees $CUDA_VISIBLE_DEVICES"'
''')
    lines = finish(c, job).splitlines()
    same(lines[0], 'script 0 of 4 sees 0,1,2,3')
    same(sorted(lines[1:]), ['rank %d/4 %d sees 0,1,2,3' % (i, i) for i in range(4)])
    group = c.job(job)['groups'][0]
    same((group['cpu_milli'], int(group['memory_bytes'])), (8000, 8 << 30))


@test
def two_nodes_run_the_script_on_each(c):
    job, said = submit(c, 'two.sh', '''#!/bin/bash
#SBATCH --account=a --nodes=2 --ntasks-per-node=2 --gpus-per-node=8
#SBATCH --time=0-00:10
srun -l sh -c 'echo $RANK/$WORLD_SIZE node $SLURM_NODEID of $SLURM_NNODES'
srun -N1 -n1 echo once
''')
    holds(said, 'two.sh: the script runs on each of its 2 nodes (Slurm runs it on the first only)')
    wait_for(lambda: c.state(job) == 'succeeded')
    out = ''.join(c.run('logs', '--task', str(i), job).stdout for i in range(2))
    same(sorted(out.splitlines()), ['%d: %d/4 node %d of 2' % (i, i, i // 2) for i in range(4)] +
         ['once'])


@test
def an_array_with_steps(c):
    r = c.run('submit', '--wait', c.write('array.sh', '''#!/bin/sh
#SBATCH --array=1-5:2
#SBATCH -A a
#SBATCH -o array-%A-%a.txt
echo "$SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT, up to $SLURM_ARRAY_TASK_MAX"
'''))
    same(r.returncode, 0, r.stderr)
    array = r.stdout.split('array ')[1].split(')')[0]
    for element in (1, 3, 5):
        with open('%s/array-%s-%d.txt' % (c.folder, array, element)) as file:
            same(file.read(), '%d of 3, up to 5\n' % element)


@test
def gpus_bound_to_their_processes(c):
    job, _ = submit(c, 'bound.sh', '''#!/bin/bash
#SBATCH --account=a --ntasks=4 --gpus-per-task=2 --time=5:00
srun sh -c 'echo $LOCAL_RANK:$CUDA_VISIBLE_DEVICES'
''')
    same(sorted(finish(c, job).splitlines()), ['0:0,1', '1:2,3', '2:4,5', '3:6,7'])


@test
def a_signal_before_the_end(c):
    job, _ = submit(c, 'save.sh', '''#!/bin/bash
#SBATCH -A a --gres=gpu:1 --signal=B:USR1@20 --requeue
trap 'echo saved $SLURM_RESTART_COUNT; exit 0' USR1
echo up $SLURM_RESTART_COUNT
while :; do sleep 0.1; done
''')
    wait_for(lambda: 'up 0' in c.run('logs', job).stdout)
    same(c.run('requeue', job).returncode, 0)
    wait_for(lambda: c.job(job)['attempt'] == 2 and c.state(job) == 'running')
    holds(c.run('logs', '--attempt', '1', job).stdout, 'saved 0')
    wait_for(lambda: 'up 1' in c.run('logs', job).stdout)
    same(c.run('cancel', job).returncode, 0)


@test
def the_file_gets_both_streams_and_a_failure_is_final(c):
    job, _ = submit(c, 'fails.sh', '''#!/bin/sh
#SBATCH -A b
echo out
echo err >&2
exit 7
''')
    finish(c, job, 'failed')
    same(c.job(job)['exit']['status'], 7)
    same(c.job(job)['attempt'], 1)
    with open('%s/slurm-%s.out' % (c.folder, job)) as file:
        same(sorted(file.read().splitlines()), ['err', 'out'])


@test
def lines_of_muster_and_options_come_first(c):
    text = '''#!/bin/sh
#SBATCH --account=a --gres=gpu:4 --time=60 --job-name=old
#MUSTER --gpus 2 --name new
true
'''
    job, _ = submit(c, 'both.sh', text, '--queue', 'b')
    got = c.job(job)
    same((got['queue'], got['requested_gpus'], got['name'], got['limit_ms']), ('b', '2', 'new', 3600000))
    job, _ = submit(c, 'both.sh', text, '--share', '0.5', '--share-memory', '10Gi')
    same(c.job(job)['requested_gpus'], '0.5')
    job, _ = submit(c, 'both.sh', text, '--sbatch', 'ignore', '-q', 'b')
    same((c.job(job)['queue'], c.job(job)['limit_ms']), ('b', None))


@test
def what_has_no_equivalent_is_named_with_its_line(c):
    path = c.write('site.sh', '''#!/bin/bash
#SBATCH --account=a
#SBATCH --qos=normal        # of the old site
#SBATCH --mail-type=END,FAIL
#SBATCH --gres=gpu:1
echo ran
''')
    r = c.run('submit', path)
    same(r.returncode, 2)
    same(r.stderr, 'muster: request.invalid: %s:3: #SBATCH --qos: muster has no QOS: the queue is '
         'chosen by --account (--sbatch=lenient leaves it out)\n' % path)
    r = c.run('submit', '--parsable', '--sbatch=lenient', path)
    same(r.returncode, 0, r.stderr)
    holds(r.stderr, 'site.sh:3: #SBATCH --qos is left out')
    holds(r.stderr, 'site.sh:4: #SBATCH --mail-type is left out')
    same(finish(c, r.stdout.strip()), 'ran\n')
    same(c.run('submit', '--sbatch=some', path).returncode, 2)


@test
def what_the_server_refuses_is_named_with_its_line(c):
    for line, status, part in (('--partition=fast', 5, 'fast'), ('--account=nobody', 5, 'nobody'),
                               ('-A a --gres=gpu:v100:1', 4, 'v100'),
                               ('-A a -N 3 --gres=gpu:8', 4, '')):
        path = c.write('no.sh', '#!/bin/sh\n\n#SBATCH -t 5\n#SBATCH %s\ntrue\n' % line)
        r = c.run('submit', '-q', 'a', path) if 'A a' not in line and 'account' not in line else \
            c.run('submit', path)
        same(r.returncode, status, r.stderr)
        holds(r.stderr, part)
        if part:
            holds(r.stderr, 'no.sh:4: ')


@test
def export_none_passes_nothing_on(c):
    job, _ = submit(c, 'env.sh', '''#!/bin/bash
#SBATCH -A a --export=NONE
echo "${OMP_NUM_THREADS-none} ${A-none}"
''', '--env', 'A=1')
    same(finish(c, job), 'none 1\n')
    c.env['OMP_NUM_THREADS'] = '3'
    job, _ = submit(c, 'env.sh', '''#!/bin/bash
#SBATCH -A a --export=ALL,A=2
echo "${OMP_NUM_THREADS-none} ${A-none}"
''')
    same(finish(c, job), '3 2\n')
    del c.env['OMP_NUM_THREADS']


@test
def srun_gives_the_worst_status_and_passes_signals_on(c):
    job, _ = submit(c, 'codes.sh', '''#!/bin/bash
#SBATCH -A a -n 3
srun sh -c 'exit $SLURM_PROCID'
echo $?
srun -n 1 sh -c 'echo $SLURM_NTASKS'
srun --nonsense x
echo $?
srun -K sh -c '[ $SLURM_PROCID != 2 ] || exit 3; exec sleep 86400'
echo $?
srun sh -c 'trap "echo told; exit 0" USR1; : >up.$SLURM_PROCID; while :; do sleep 0.1; done' &
until [ -e up.0 ] && [ -e up.1 ] && [ -e up.2 ]; do sleep 0.1; done
kill -USR1 $!
wait $!
echo "end $?"
srun -l sh -c 'trap "echo told; exit $RANK" USR1; : >up-$RANK; while :; do sleep 0.1; done' &
until [ -e up-0 ] && [ -e up-1 ] && [ -e up-2 ]; do sleep 0.1; done
kill -USR1 $!
wait $!
echo "end $?"
''')
    lines = finish(c, job).splitlines()
    same(lines[:4], ['2', '1', '1', '143'])
    same(lines[4:8], ['told'] * 3 + ['end 0'])
    same([lines[-1]] + [l for l in sorted(lines[8:-1]) if 'told' in l],
         ['end 2', '0: told', '1: told', '2: told'])
    holds(c.run('logs', '--stderr', job).stdout, 'srun (of muster): does not know --nonsense')


@test
def a_signal_while_srun_starts_its_processes_is_not_lost(c):
    length = '86%d' % os.getpid()
    job, _ = submit(c, 'early.sh', """#!/bin/bash
#SBATCH -A a -n 3
for label in '' -l; do
    for signal in TERM USR1; do
        for hundredths in 00 01 02 03 05 08; do
            srun $label sleep %s &
            sleep 0.$hundredths
            kill -$signal $!
            wait $!
            echo "$signal $?"
        done
    done
done
""" % length)
    same(finish(c, job).splitlines(), (['TERM 143'] * 6 + ['USR1 138'] * 6) * 2)
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/cmdline' % pid) as file:
                assert length not in file.read().split('\0'), 'process %s was left behind' % pid
        except OSError:
            continue  # it has just ended


if __name__ == '__main__':
    sys.exit(play())
