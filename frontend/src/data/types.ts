/** What the page's blobs hold: made from mlirdev/explore/page.py by npm run types. */

/**
 * The page's blobs by name; `graph` stands for graph/NAME, and so on.
 */
export interface Blobs {
  graph: GraphPage;
  kernel: KernelPage;
  links: PageLinks;
  page: Page;
  passes: Passes;
  sources: {
    [k: string]: string;
  };
  timeline: Timeline;
}
/**
 * A graph: its nodes and plan, what each launch of the plan took (`totals`), its first `runs` (at most 1000), and
 * its text beside that of the nearest graph (`text`, `nearest_text`).
 */
export interface GraphPage {
  detail: GraphDetail;
  nearest_text: string;
  runs: RunFacts[];
  text: string;
  totals: LaunchTotals[];
}
/**
 * A graph with all that is in it. `launches` name their kernel, or are empty for a node on the CPU.
 */
export interface GraphDetail {
  facts: GraphFacts;
  inputs: string[];
  launches: PlanLaunch[];
  nodes: NodeFacts[];
  outputs: number[];
  slots: PlanSlot[];
  stages: {
    [k: string]: number;
  };
}
/**
 * A graph over the whole run. `seconds` are those of its kernels in all runs, `compile_s` what the program waited
 * when it wasn't known, for `reason`; `where` is the line that launched it first.
 */
export interface GraphFacts {
  compile_s: number;
  from_disk: boolean;
  generalised: boolean;
  hits: number;
  host_nodes: number;
  kernels: number;
  launches: number;
  misses: number;
  name: string;
  nearest: string;
  nodes: number;
  reason: string;
  runs: number;
  seconds: number;
  syms: number;
  where: string;
}
/**
 * One launch of a graph's plan: of a kernel (by its `Kernel.name`), or of one node on the host (`kernel` empty).
 * `nodes` are the graph's nodes that it computes: place k is what the location `nk` in the kernel's IR stands for.
 * `reads` and `writes` are slots.
 */
export interface PlanLaunch {
  kernel: string;
  nodes: number[];
  reads: number[];
  writes: number[];
}
/**
 * A node of a graph. `kernels` compute it (several, where it was recomputed), `lines` are the Python lines that
 * recorded it, `host` says why it runs on the CPU, if it does, `fate` why no kernel computes it, where none does.
 */
export interface NodeFacts {
  fate: string;
  host: string;
  kernels: string[];
  lines: string[];
  number: number;
  op: string;
  results: string[];
  text: string;
}
/**
 * A piece of memory of a plan. `role` is input, output or temporary; `nbytes` is 0 where a size is run-time.
 */
export interface PlanSlot {
  nbytes: number;
  role: string;
  spec: string;
}
/**
 * A run of a graph.
 */
export interface RunFacts {
  at: number;
  cause: string;
  hit: boolean;
  launch_s: number;
  number: number;
  record_s: number;
  stream: number;
  syms: number[];
  where: string;
}
/**
 * A launch of a plan over all runs of its graph.
 */
export interface LaunchTotals {
  flops: number;
  nbytes: number;
  seconds: number;
  times: number;
}
/**
 * A kernel in all places.
 */
export interface KernelPage {
  key: string;
  name: string;
  uses: KernelUse[];
}
/**
 * A place where a kernel is used: launch `index` of a graph's plan, for these nodes and Python lines.
 */
export interface KernelUse {
  graph: string;
  index: number;
  lines: string[];
  nodes: number[];
  ops: string[];
  seconds: number;
  times: number;
}
/**
 * See the module's docstring.
 */
export interface PageLinks {
  graphs: {
    [k: string]: GraphLinks;
  };
  places: Spot[];
  runs: RunLinks[];
  ways: Way[];
}
/**
 * A graph's nodes as texts, its plan, and the fate, in words, of each node that no launch computes.
 */
export interface GraphLinks {
  fates: {
    [k: string]: string;
  };
  launches: PlannedLaunch[];
  nodes: string[];
}
/**
 * A launch of a plan: `kernel` is empty on the host, `nodes[k]` is the node behind ordinal k.
 */
export interface PlannedLaunch {
  kernel: string;
  nodes: number[];
}
/**
 * A line of the user's program; `seconds` are those of launches, each shared by the lines of its nodes in
 * proportion to their number.
 */
export interface Spot {
  file: string;
  function: string;
  line: number;
  seconds: number;
}
/**
 * A run, with the seconds of each launch of its plan: null where it didn't come to that.
 */
export interface RunLinks {
  at: number;
  cause: string;
  graph: string;
  number: number;
  seconds: (number | null)[];
  way: number;
}
/**
 * A way in which the program reached a graph: of each of its nodes, the place.
 */
export interface Way {
  graph: string;
  id: number;
  places: number[];
}
/**
 * What the page opens with. `sources` are the files that recorded ops, `notes` say what was left out, `trace`
 * is the file beside the page for Perfetto, if there is one.
 */
export interface Page {
  failures: FailureFacts[];
  figures: Figure[];
  graphs: GraphFacts[];
  notes: string[];
  options: {
    [k: string]: string;
  };
  owners: OwnerFacts[];
  sources: string[];
  summary: Summary;
  target: {};
  title: string;
  trace: string;
  version: string;
}
/**
 * A pass that failed. `before` is the number of the step whose IR it was given (-1: not kept), `lines` are the
 * Python lines of the op, or of the whole owner where the op isn't known.
 */
export interface FailureFacts {
  before: number;
  command: string;
  illegal: {
    [k: string]: number;
  };
  lines: string[];
  message: string;
  name: string;
  op: string;
  owner: string;
  reproducer: string;
  stage: string;
}
/**
 * One key figure: a title, its value, and what is behind it.
 */
export interface Figure {
  key: string;
  note: string;
  title: string;
  value: string;
}
/**
 * Whose passes there are: "graphs/NAME" or "kernels/NAME".
 */
export interface OwnerFacts {
  changed: number;
  owner: string;
  passes: number;
  seconds: number;
}
/**
 * See the module's docstring.
 */
export interface Summary {
  bandwidth: Bandwidth;
  compile_time: CompileTime;
  compiles: Compile[];
  counts: Counts;
  failures: Failure[];
  kernels: KernelFacts[];
  launch_overhead: LaunchOverhead;
  on_cpu: OnCpu[];
  peak_memory: PeakMemory;
  program: Program;
  recompiles: Recompiles;
  spans: Span[];
  utilisation: Utilisation;
  waits: Wait[];
}
/**
 * Bytes that kernels read and wrote, each operand once, against the memory's bandwidth (0: not known).
 */
export interface Bandwidth {
  gbps: number;
  nbytes: number;
  of_peak: number | null;
  peak_gbps: number;
}
/**
 * `waited_s` is what the program waited, `stages` are seconds of work over all workers.
 */
export interface CompileTime {
  from_disk: number;
  graphs: number;
  kernels: number;
  stages: {
    [k: string]: number;
  };
  waited_s: number;
}
/**
 * A graph that wasn't known. `cause` is first (of the program), sizes, or program: other ops, or other uses of
 * them. `seconds` were waited for, `stages` are seconds of work over all workers.
 */
export interface Compile {
  cause: string;
  from_disk: boolean;
  generalised: boolean;
  graph: string;
  kernels: number;
  nearest: string;
  nodes: number;
  reason: string;
  seconds: number;
  stages: {
    [k: string]: number;
  };
  where: string;
}
/**
 * How many there are of each thing. `hits` are runs of graphs found compiled; `host_launches` are ops of plans
 * that ran on the CPU.
 */
export interface Counts {
  copies: number;
  failures: number;
  fallbacks: number;
  graphs: number;
  hits: number;
  host_launches: number;
  kernels: number;
  kernels_from_cache: number;
  launches: number;
  runs: number;
  waits: number;
}
/**
 * A pass, or a whole compile, that failed. `op` is the guilty op's text with its types, if one is known, `illegal`
 * counts the ops that weren't lowered; `before` is the file of the IR before the pass, `command` goes on from it.
 */
export interface Failure {
  before?: string;
  command?: string;
  illegal?: {
    [k: string]: number;
  };
  kind: "failure";
  message: string;
  name: string;
  op?: string;
  ordinals?: number[];
  owner: string;
  reproducer?: string;
  stage: string;
}
/**
 * A kernel over the whole run. `flops` and `nbytes` are of all its launches; `bound` is compute, memory, or
 * unknown; `share` is its part of the seconds that all kernels took; `dynamic`: sizes come with each launch. `lines`
 * are the Python lines that it computes for, those of most launches first.
 */
export interface KernelFacts {
  bound: string;
  compile_s: number;
  differs: boolean;
  dynamic: boolean;
  flops: number;
  from_cache: boolean;
  gbps: number;
  gflops: number;
  graphs: string[];
  launches: number;
  lines: string[];
  median_s: number;
  name: string;
  nbytes: number;
  object_bytes: number;
  of_bound: number | null;
  seconds: number;
  share: number;
  signature: string;
  threads: number;
  type: string;
}
/**
 * Host seconds from a flush to its enqueued plan, for graphs found compiled, without the kernels that the program's
 * own thread ran meanwhile.
 */
export interface LaunchOverhead {
  median_run_s: number;
  per_launch_s: number;
  runs: number;
  seconds: number;
}
/**
 * Runs of one op on the CPU at one line.
 */
export interface OnCpu {
  cause: string;
  op: string;
  reason: string;
  remedy: string;
  times: number;
  where: string;
}
/**
 * The most device memory in use at once, and when (None: only that it was).
 */
export interface PeakMemory {
  at: number | null;
  nbytes: number;
}
/**
 * What ran and with what. `wall_s` is how long the record goes on, `recording_s` what making it took of that;
 * `whole` is false where the program ended without closing the record.
 */
export interface Program {
  argv: string[];
  error: string;
  processor: string;
  recording_s: number;
  started: string;
  target: string;
  threads: number;
  versions: {
    [k: string]: string;
  };
  wall_s: number;
  whole: boolean;
}
/**
 * Graphs compiled although one like them was known: for other sizes, or since the program did something else.
 * `dynamic_kernels` take their sizes with each launch; `dynamic_of_bound` says how near they came to what the
 * processor allows, `static_of_bound` the same of all others.
 */
export interface Recompiles {
  by_program: number;
  by_sizes: number;
  dynamic_kernels: number;
  dynamic_of_bound: number | null;
  dynamic_s: number;
  generalised: number;
  static_of_bound: number | null;
}
/**
 * Seconds of one kind; `where` is host (then the program stood still for them) or device.
 */
export interface Span {
  note: string;
  seconds: number;
  what: string;
  where: string;
}
/**
 * Floating-point operations against the processor's peak (0: not known): while kernels ran, and of the wall time.
 * `of_peak` and `of_wall` are fractions of 1, None where no peak is known.
 */
export interface Utilisation {
  flops: number;
  gflops: number;
  kernel_s: number;
  of_peak: number | null;
  of_wall: number | null;
  peak_gflops: number;
}
/**
 * Waits for the device for one cause at one line; `explicit`: the program asked for them.
 */
export interface Wait {
  cause: string;
  explicit: boolean;
  remedy: string;
  seconds: number;
  times: number;
  where: string;
}
/**
 * An owner's passes with their texts. Step k has text `text_of[k]` (-1: left out, `cut` says why). A text is a
 * list of ranges of `lines`: start, count, start, count, …, since the texts of an owner share most lines.
 *
 * `marks` says what a text's lines stand for: place in `sets`, count of lines, place, count, …; a set is null for a
 * line without ops. `gone` has each ordinal of which nothing is left at the end, with the number of the first step
 * without it. Of each step, `mixes` counts the ops by dialect (MLIR only), and `commands` say how to go on from its
 * file.
 */
export interface Passes {
  commands: string[];
  cut: string;
  gone: {
    [k: string]: number;
  };
  lines: string[];
  marks: number[][];
  mixes: {
    [k: string]: number;
  }[];
  sets: (number[] | null)[];
  steps: Step[];
  text_of: number[];
  texts: number[][];
}
/**
 * A pass of an owner. `number` counts over all stages, and is that of its file; a pass that changed nothing has
 * the file of the last one that did. `ops` is how many there are, `delta` which are more (+) or fewer (-) than before.
 */
export interface Step {
  changed: boolean;
  delta: {
    [k: string]: number;
  };
  elided: boolean;
  file: string;
  index: number;
  name: string;
  nbytes: number;
  number: number;
  ops: number;
  seconds: number;
  stage: string;
}
/**
 * All of a run. `recorded` is what the host recorded and `launched` what it launched, by graph; `compiled` what it
 * waited for, `lowered` the stages of graphs and kernels ("kernels/NAME llvm") by compile worker; `launches` are
 * kernels, or ops on the CPU, by stream. `memory` is in use from `memory_at` on. `cut`
 * says what was left out.
 */
export interface Timeline {
  compiled: Spans;
  copies: Spans;
  cut: string;
  launched: Spans;
  launches: Spans;
  lowered: Spans;
  memory: number[];
  memory_at: number[];
  names: string[];
  places: string[];
  recorded: Spans;
  seconds: number;
  waits: Spans;
}
/**
 * Things of one kind that took time, in columns: entry k of each belongs together. `what` and `where` are indices
 * into the timeline's names and places (-1: no place), `run` is a run's number (-1: none), `lane` the stream.
 */
export interface Spans {
  at: number[];
  lane: number[];
  run: number[];
  seconds: number[];
  what: number[];
  where: number[];
}
