"""Speed beside eager PyTorch and inductor. `scripts/bench --help` is the way in.

models.py      plain PyTorch models
workloads.py   the table of what is measured: models, training steps, single kinds of kernels
engines.py     who computes: eager, inductor, the device, torch.compile on the device
steady.py      one workload's speed after warm-up, rounds interleaved, values checked first
memory.py      the most memory that one engine takes for one workload
first.py       seconds of the first call in a fresh process, with an empty cache and with a full one
shapes.py      compiles while sizes change
host.py        what an op costs on tensors so small that nothing else counts
processes.py   each measurement is a process of its own: a crash is one bad row
tables.py      ratios and how they are shown
"""
