"""What `mlirdev show` can show, a function a view: a Record in, a View out.

overview   summary, failures, syncs, fallbacks        graphs    graphs, graph, runs
kernels    kernels, kernel, launches                  passes    passes, pass, search
timeline   timeline, memory                           source    source, lines
differences                                            what `mlirdev diff` shows
"""
