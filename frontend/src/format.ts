// Numbers as a person reads them; the same words as mlirdev/explore/units.py.
type Unit = [number, string];
const SECONDS: Unit[] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];
const BYTES: Unit[] = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];
const COUNTS: Unit[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
export const NONE = "–";

export function seconds(value: number): string {
  if (!value) return "0 s";
  const [factor, unit] = SECONDS.find(([f]) => Math.abs(value) >= f) ?? SECONDS.at(-1)!;
  return `${threeDigits(value / factor)} ${unit}`;
}

/** A moment on an axis whose marks are `step` apart: as many digits as tell them apart. */
export function moment(value: number, step: number): string {
  const [factor, unit] = SECONDS.find(([f]) => Math.max(Math.abs(value), step) >= f) ?? SECONDS.at(-1)!;
  return `${fixed(value / factor, Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9)))} ${unit}`;
}

export function bytes(value: number): string {
  const found = BYTES.find(([f]) => Math.abs(value) >= f);
  return found ? `${fixed(value / found[0], 1)} ${found[1]}` : `${fixed(value, 0)} B`;
}

export function count(value: number): string {
  const found = COUNTS.find(([f]) => Math.abs(value) >= f);
  return found ? `${threeDigits(value / found[0])} ${found[1]}` : fixed(value, 0);
}

export function whole(value: number): string {
  return fixed(value, 0);
}

export function share(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  return value > 0 && value < 0.0005 ? "<0.1 %" : `${(value * 100).toFixed(1)} %`;
}

export function rate(value: number): string {
  return !value ? "0" : value < 0.005 ? "<0.01" : threeDigits(value);
}

/** "1 graph", "3 graphs". */
export function plural(n: number, noun: string, many = `${noun}s`): string {
  return `${fixed(n, 0)} ${n === 1 ? noun : many}`;
}

function threeDigits(value: number): string {
  const size = Math.abs(value);
  return fixed(value, size < 10 ? 2 : size < 100 ? 1 : 0);
}

function fixed(value: number, digits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
