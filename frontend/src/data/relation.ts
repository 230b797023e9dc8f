// From Python lines to nodes, launches and ordinals, and back: many-to-many at every step.
import type { PageLinks, Spot } from "./types";

/** Nodes by graph. */
export type Nodes = ReadonlyMap<string, ReadonlySet<number>>;

/** A place where a kernel is used: number `index` of the launches of a graph's plan. */
export interface Use {
  kernel: string;
  graph: string;
  index: number;
  /** The node behind each ordinal of the kernel. */
  nodes: number[];
  /** Over all runs. */
  times: number;
  seconds: number;
}

export class Relation {
  readonly uses: Use[];

  constructor(readonly links: PageLinks) {
    const found = new Map<string, Use>();
    for (const [graph, { launches }] of Object.entries(links.graphs)) {
      for (const [index, { kernel, nodes }] of launches.entries()) {
        found.set(keyOf({ graph, index }), { kernel, graph, index, nodes, times: 0, seconds: 0 });
      }
    }
    for (const run of links.runs) {
      for (const [index, seconds] of run.seconds.entries()) {
        const use = found.get(keyOf({ graph: run.graph, index }));
        if (!use || seconds === null) continue;
        use.times += 1;
        use.seconds += seconds;
      }
    }
    this.uses = [...found.values()];
  }

  /** The places of a file that recorded something, by line. */
  spots(file: string): Map<number, Spot[]> {
    const found = new Map<number, Spot[]>();
    for (const spot of this.links.places) {
      if (spot.file === file) found.set(spot.line, [...(found.get(spot.line) ?? []), spot]);
    }
    return found;
  }

  /** The nodes that these lines of a file recorded. */
  nodesAt(file: string, lines: ReadonlySet<number>): Nodes {
    const here = this.links.places.map((spot) => spot.file === file && lines.has(spot.line));
    const found = new Map<string, Set<number>>();
    for (const way of this.links.ways) {
      for (const [node, place] of way.places.entries()) if (here[place]) add(found, way.graph, node);
    }
    return found;
  }

  /** The lines of a file that recorded any of these nodes. */
  linesOf(file: string, nodes: Nodes): number[] {
    const found = new Set<number>();
    for (const spot of this.spotsOf(nodes)) if (spot.file === file) found.add(spot.line);
    return [...found].sort((a, b) => a - b);
  }

  spotsOf(nodes: Nodes): Set<Spot> {
    const found = new Set<Spot>();
    for (const way of this.links.ways) {
      for (const node of nodes.get(way.graph) ?? []) {
        const place = way.places[node];
        if (place !== undefined) found.add(this.links.places[place]!);
      }
    }
    return found;
  }

  /** The launches of plans that compute any of these nodes, the longest first. */
  usesOf(nodes: Nodes): Use[] {
    return this.uses
      .filter((use) => use.nodes.some((node) => nodes.get(use.graph)?.has(node)))
      .sort((a, b) => b.seconds - a.seconds);
  }

  usesOfKernel(kernel: string): Use[] {
    return this.uses.filter((use) => use.kernel === kernel);
  }

  /** The nodes that have no launch, with what became of them. */
  fates(nodes: Nodes): { graph: string; node: number; fate: string }[] {
    return [...nodes].flatMap(([graph, of]) =>
      [...of].flatMap((node) => {
        const fate = this.links.graphs[graph]?.fates[String(node)];
        return fate ? [{ graph, node, fate }] : [];
      }),
    );
  }

  /** A node as it stands in its graph's text. */
  text(graph: string, node: number): string {
    return this.links.graphs[graph]?.nodes[node] ?? "";
  }
}

/** The ordinals that stand for these nodes in a use's kernel. */
export function ordinalsOf(uses: Use[], nodes: Nodes): Set<number> {
  const found = new Set<number>();
  for (const use of uses) {
    for (const [ordinal, node] of use.nodes.entries()) if (nodes.get(use.graph)?.has(node)) found.add(ordinal);
  }
  return found;
}

/** The nodes that these ordinals of a kernel stand for, in each of the uses. */
export function nodesOf(uses: Use[], ordinals: ReadonlySet<number>): Nodes {
  const found = new Map<string, Set<number>>();
  for (const use of uses) {
    for (const ordinal of ordinals) {
      const node = use.nodes[ordinal];
      if (node !== undefined) add(found, use.graph, node);
    }
  }
  return found;
}

/** Those of the nodes that a use computes. */
export function within(use: Use, nodes: Nodes): Nodes {
  const own = new Set(use.nodes);
  return new Map([[use.graph, new Set([...(nodes.get(use.graph) ?? [])].filter((node) => own.has(node)))]]);
}

export function sizeOf(nodes: Nodes): number {
  return [...nodes.values()].reduce((sum, of) => sum + of.size, 0);
}

function add(to: Map<string, Set<number>>, graph: string, node: number): void {
  const known = to.get(graph);
  if (known) known.add(node);
  else to.set(graph, new Set([node]));
}

/** What a use is called. */
export function keyOf({ graph, index }: Pick<Use, "graph" | "index">): string {
  return `${graph} ${index}`;
}
