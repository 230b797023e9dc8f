// Above the source: the file, what is picked in numbers, and which kernel and launch of it are shown.
import type { JSX } from "preact";
import { keyOf, type Nodes, type Relation, sizeOf, type Use } from "../data/relation";
import { plural, seconds } from "../format";
import { go, href, link } from "../router";
import type { Selection } from "./selection";

interface Props {
  file: string;
  sources: Record<string, string>;
  relation: Relation;
  selection: Selection;
}

export function Strip({ file, sources, relation, selection }: Props): JSX.Element {
  const { picked, pick, setLaunch, nodes, all, kernels, kernel, uses, use } = selection;
  const times = all.reduce((sum, one) => sum + one.times, 0);
  const time = all.reduce((sum, one) => sum + one.seconds, 0);
  return (
    <div class="bar top">
      <select aria-label="file" value={file} onChange={(event) => go(href("source", [event.currentTarget.value]))}>
        {filesWithNodes(relation, sources, file).map((name) => (
          <option value={name}>{name}</option>
        ))}
      </select>
      {sizeOf(picked.nodes) === 0 ? (
        <span class="soft">
          {picked.said ??
            "Pick a line, of the program or of any pane: what belongs to it is marked in all. Ctrl adds lines."}
        </span>
      ) : (
        <>
          <span class="soft">
            {plural(sizeOf(picked.nodes), "node")}, {plural(kernels.length, "kernel")},{" "}
            {plural(times, "launch", "launches")} of {seconds(time)}
          </span>
          {kernels.length > 0 && (
            <select aria-label="kernel" value={kernel} onChange={(event) => pick(picked, event.currentTarget.value)}>
              {kernels.map((name) => (
                <option value={name}>
                  {name} · {seconds(total(all, name))}
                </option>
              ))}
            </select>
          )}
          {kernel && (
            <select
              aria-label="launch"
              value={use || uses.length === 1 ? keyOf(use ?? uses[0]!) : ""}
              onChange={(event) => setLaunch(event.currentTarget.value)}
            >
              {uses.length !== 1 && <option value="">in all {plural(uses.length, "place")}</option>}
              {uses.map((one) => (
                <option value={keyOf(one)}>
                  launch {one.index} of {one.graph} · {one.times}× · {seconds(one.seconds)}
                </option>
              ))}
            </select>
          )}
          {kernel && <a href={link.pass(`kernels/${kernel}`)}>passes</a>}
          <Fates relation={relation} nodes={nodes} />
          {picked.said && <span class="soft">{picked.said}</span>}
        </>
      )}
    </div>
  );
}

/** The files that recorded something, and the one that is shown. */
function filesWithNodes(relation: Relation, sources: Record<string, string>, shown: string): string[] {
  const found = new Set(relation.links.places.map((spot) => spot.file));
  return Object.keys(sources).filter((name) => name === shown || found.has(name));
}

function total(uses: Use[], kernel: string): number {
  return uses.reduce((sum, use) => sum + (use.kernel === kernel ? use.seconds : 0), 0);
}

/** Nodes that nothing computes, with the pass that removed them. */
function Fates({ relation, nodes }: { relation: Relation; nodes: Nodes }): JSX.Element | null {
  const found = relation
    .fates(nodes)
    .map(({ graph, node, fate }) => `n${node} ${opOf(relation.text(graph, node))}: ${fate}`);
  if (!found.length) return null;
  return (
    <span class="fates ellipsis" title={found.join("\n")}>
      {found.length > 1 && `${found.length} nodes without a kernel: `}
      {found[0]}
    </span>
  );
}

/** The op in a node's text: aten.add.Tensor of "%3: 4xf32 = aten.add.Tensor(%1, %2)  // n0". */
function opOf(text: string): string {
  return /([a-z_]\w*(?:\.\w+)+)\(/.exec(text)?.[1] ?? "";
}
