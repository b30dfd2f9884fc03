#!/usr/bin/env bash
# A Slurm cluster of this one machine, for tests: munge, slurmctld and slurmd.
#
#   start_slurm.sh FOLDER         starts it; configuration, state and logs are in FOLDER
#   start_slurm.sh FOLDER stop    stops it
#
# Exit status 77: this machine cannot run it, and standard error says why. It installs nothing.
# Cores, memory and GPUs are made up, so that any machine will do: jobs are placed, not confined.
set -euo pipefail

folder=$(realpath "${1:?usage: start_slurm.sh FOLDER [stop]}")
# Where Slurm looks when neither SLURM_CONF nor /etc/slurm/slurm.conf says otherwise. It has to be
# found without a variable: the executor plugin drops all that begin with SLURM_ inside a job.
found=/run/slurm/conf

running() { # whether the process whose id is in a file lives
  [[ -s $1 ]] && kill -0 "$(<"$1")" 2>/dev/null
}

stop() {
  local daemon file
  # As long as there is a controller, have it end the jobs.
  if running "$folder/slurmctld.pid"; then
    timeout 10 scancel --user "$(id -un)" || true
    for _ in {1..50}; do
      [[ -n $(timeout 10 squeue --noheader || true) ]] || break
      sleep 0.2
    done
  fi
  for daemon in slurmd slurmctld munged; do
    file=$folder/$daemon.pid
    if running "$file"; then
      kill "$(<"$file")"
      for _ in {1..100}; do running "$file" || break; sleep 0.1; done
    fi
  done
  if [[ $(readlink "$found") == "$folder" ]]; then
    rm "$found"
    rmdir --ignore-fail-on-non-empty "$(dirname "$found")"
  fi
}

cannot() {
  echo "no Slurm on this machine: $*" >&2
  exit 77
}

if [[ ${2:-} == stop ]]; then
  stop
  exit
fi

# Daemons of Debian's packages are in /usr/sbin, which is not on every PATH.
PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd sbatch srun squeue scontrol; do
  command -v "$program" >/dev/null ||
    cannot "$program is missing; on Debian: apt-get install slurm-wlm munge"
done
((EUID == 0)) || cannot "its daemons need root"
for other in "${SLURM_CONF:-}" /etc/slurm/slurm.conf "$found"; do
  [[ -z $other || ! -e $other ]] || cannot "$other exists, so it belongs to a cluster already"
done

trap 'stop; cat "$folder"/slurm*.log >&2' ERR
host=$(hostname -s)
mkdir "$folder/state" "$folder/spool"
chmod 755 "$folder"
(umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key")

cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
# Containers have no control groups to give away.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
KillWait=1
MinJobAge=3600
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=32000 Gres=gpu:2
PartitionName=cpu Nodes=ALL Default=YES
PartitionName=gpu Nodes=ALL
END
# GPUs are counted by their device files; these two every machine has.
printf "NodeName=$host Name=gpu File=%s\n" /dev/null /dev/zero >"$folder/gres.conf"

mkdir -p "$(dirname "$found")"
ln -s "$folder" "$found"
munged --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
  --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge.seed"
slurmctld -f "$folder/slurm.conf"
slurmd -f "$folder/slurm.conf" -N "$host"

for _ in {1..150}; do
  if [[ $(timeout 10 sinfo --noheader --partition cpu --format %t 2>/dev/null) == idle ]]; then
    exit 0
  fi
  sleep 0.2
done
echo "the node is not idle after 30 seconds" >&2
false
