// Which dialects a stage's ops are of, as a bar.
import type { JSX } from "preact";
import { whole } from "../format";

// A dialect has the same colour everywhere; the order is the way down.
const ORDER = [
  "torch",
  "tm_tensor",
  "linalg",
  "tensor",
  "bufferization",
  "memref",
  "scf",
  "affine",
  "vector",
  "math",
  "arith",
  "cf",
  "func",
  "llvm",
  "builtin",
];

export type Mix = Record<string, number>;

export function colourOf(dialect: string): string {
  const known = ORDER.indexOf(dialect);
  const turn =
    known >= 0
      ? (known * 360) / ORDER.length
      : [...dialect].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 360, 7);
  return `light-dark(oklch(.74 .12 ${turn}), oklch(.6 .11 ${turn}))`;
}

export function MixBar({ mix }: { mix: Mix }): JSX.Element | null {
  const entries = inOrder(mix);
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  if (!total) return null;
  return (
    <span class="mix" role="img" aria-label={entries.map(([name, count]) => `${name} ${count}`).join(", ")}>
      {entries.map(([name, count]) => (
        <span
          style={{ width: `${(count / total) * 100}%`, background: colourOf(name) }}
          title={`${name}: ${whole(count)} ops`}
        />
      ))}
    </span>
  );
}

export function MixLegend({ mix }: { mix: Mix }): JSX.Element {
  return (
    <span class="legend">
      {inOrder(mix).map(([name, count]) => (
        <span>
          <i style={{ background: colourOf(name) }} />
          {name} <span class="dim">{whole(count)}</span>
        </span>
      ))}
    </span>
  );
}

function inOrder(mix: Mix): [string, number][] {
  const place = (name: string): number => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
  return Object.entries(mix).sort(([a], [b]) => place(a) - place(b));
}
