// Which nodes and Python lines a line of a stage comes from.
import type { JSX } from "preact";
import { marksOf } from "../data/marks";
import { nodesOf, Relation } from "../data/relation";
import type { Owner } from "../data/store";
import type { PageLinks, Step } from "../data/types";
import { useApp } from "../ui/component";
import { useLoaded } from "../ui/loaded";
import { Places } from "../ui/parts";

const MOST_NODES = 3;

export function Origin({ owner, step, line }: { owner: Owner; step: Step; line: number }): JSX.Element | null {
  const app = useApp();
  const { value } = useLoaded(async () => new Relation(await app.data.blob<PageLinks>("links")), "links");
  const mark = marksOf(owner, step.number)[line - 1];
  if (!value || mark === undefined) return null;
  return (
    <p class="origin">
      <span class="dim">line {line}</span>
      {mark?.length ? (
        <Nodes owner={owner} relation={value} ordinals={mark} />
      ) : (
        <span class="dim">{mark ? "doesn't say what it comes from" : "holds no op"}</span>
      )}
    </p>
  );
}

function Nodes({
  owner,
  relation,
  ordinals,
}: {
  owner: Owner;
  relation: Relation;
  ordinals: readonly number[];
}): JSX.Element {
  const [kind, name = ""] = owner.name.split("/", 2);
  const own = new Set(ordinals);
  const nodes = kind === "graphs" ? new Map([[name, own]]) : nodesOf(relation.usesOfKernel(name), own);
  const texts = [...nodes].flatMap(([graph, of]) => [...of].map((node) => relation.text(graph, node)));
  const places = [...relation.spotsOf(nodes)]
    .sort((a, b) => b.seconds - a.seconds)
    .map((spot) => `${spot.file}:${spot.line}`);
  return (
    <>
      <Places at={[...new Set(places)]} most={6} />
      <code class="ellipsis" title={texts.join("\n")}>
        {[...new Set(texts)].slice(0, MOST_NODES).join("  ")}
      </code>
    </>
  );
}
