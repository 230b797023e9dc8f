"""Random programs, run on the device beside the CPU, a line at a time.

    draw.py     what a line may use: a seed's choices, and the CPU's tensors, which tell what fits
    views.py, writes.py, results.py      the lines: views · writes and new geometry · new tensors, autograd, launches
    prelude.py  the few functions that lines call
    beside.py   runs lines on both sides, and tells the first difference
    shrink.py   the lines that a difference needs, as a script
    __main__.py `scripts/fuzz`

A line is Python text, so a failing program is a script already.
"""
