// What belongs to what is picked: of all that computes it, one kernel is shown, in all its places or in that of one launch.
import { useEffect, useMemo, useState } from "preact/hooks";
import { keyOf, type Nodes, ordinalsOf, type Relation, type Use, within } from "../data/relation";
import { ofLines, type Picked } from "./picked";

export interface Selection {
  picked: Picked;
  /** Pick something else, with the kernel to show. */
  pick: (to: Picked, kernel?: string) => void;
  /** Say why what was clicked leads nowhere. */
  say: (why: string) => void;
  setLaunch: (key: string) => void;
  /** All that computes what is picked, the longest first. */
  all: Use[];
  kernels: string[];
  /** The kernel that is shown, where it is used for what is picked, and which of these is chosen. */
  kernel: string;
  uses: Use[];
  use: Use | undefined;
  /** Of what is picked, what is shown: in graphs, in the graph that is shown, in the kernel, and in the program. */
  nodes: Nodes;
  graph: string;
  ordinals: ReadonlySet<number>;
  lines: number[];
}

export function useSelection(relation: Relation, file: string, asked: string, first: string): Selection {
  const [picked, setPicked] = useState<Picked>(() => ofLines(relation, file, asked));
  const [wanted, setWanted] = useState(first);
  const [launch, setLaunch] = useState("");
  // A launch belongs to what was picked with it.
  const pick = (to: Picked, kernel = wanted): void => {
    setPicked(to);
    setWanted(kernel);
    setLaunch("");
  };
  useEffect(() => {
    if (picked.asked !== asked) pick(ofLines(relation, file, asked));
  }, [asked]);

  const all = useMemo(() => relation.usesOf(picked.nodes), [picked.nodes]);
  const kernels = [...new Set(all.map((use) => use.kernel).filter(Boolean))];
  const kernel = kernels.includes(wanted) ? wanted : (kernels[0] ?? "");
  const uses = all.filter((use) => use.kernel === kernel);
  const use = uses.find((one) => keyOf(one) === launch);
  const nodes = useMemo(() => (use ? within(use, picked.nodes) : picked.nodes), [use, picked.nodes]);
  const graph = use?.graph ?? uses[0]?.graph ?? [...picked.nodes.keys()][0] ?? "";
  const ordinals = useMemo(() => ordinalsOf(use ? [use] : uses, nodes), [kernel, use, nodes]);
  const lines = useMemo(() => relation.linesOf(file, nodes), [file, nodes]);
  const say = (why: string): void => setPicked({ ...picked, said: why });
  return { picked, pick, say, setLaunch, all, kernels, kernel, uses, use, nodes, graph, ordinals, lines };
}
