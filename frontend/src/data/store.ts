// The page's data: blobs of gzipped JSON in <script data-blob="NAME">, each decoded when it is first asked for.
import type { GraphPage, KernelPage, Page, Passes, Step, Timeline } from "./types";

/** Everything that views read. Promises are kept, so asking twice costs nothing. */
export class Data {
  readonly #blobs = new Map<string, Promise<unknown>>();

  private constructor(readonly page: Page) {}

  static async open(): Promise<Data> {
    return new Data(await decode<Page>("page"));
  }

  graph(name: string): Promise<GraphPage> {
    return this.blob(`graph/${name}`);
  }

  kernel(name: string): Promise<KernelPage> {
    return this.blob(`kernel/${name}`);
  }

  timeline(): Promise<Timeline> {
    return this.blob("timeline");
  }

  /** The program's files by name. */
  sources(): Promise<Record<string, string>> {
    return this.blob("sources");
  }

  /** The passes of "graphs/NAME" or "kernels/NAME", with their texts. */
  async passes(owner: string): Promise<Owner> {
    return this.#once(`owner ${owner}`, async () => new Owner(owner, await this.blob<Passes>(`passes/${owner}`)));
  }

  /** Any blob, for views that bring their own. Rejects where the page has none of this name. */
  blob<T>(name: string): Promise<T> {
    return this.#once(`blob ${name}`, () => decode<T>(name));
  }

  #once<T>(key: string, make: () => Promise<T>): Promise<T> {
    if (!this.#blobs.has(key)) this.#blobs.set(key, make());
    return this.#blobs.get(key) as Promise<T>;
  }
}

/** A line of a step's text that a search found; `line` counts from 1. */
export interface Hit {
  step: number;
  line: number;
  text: string;
}

/** The passes of one graph or kernel. `number` is a Step's own, which names its file. */
export class Owner {
  readonly steps: Step[];
  readonly cut: string;
  readonly #texts = new Map<number, string[]>();

  constructor(
    readonly name: string,
    readonly passes: Passes,
  ) {
    this.steps = passes.steps;
    this.cut = passes.cut;
  }

  step(number: number): Step | undefined {
    return this.steps.find((step) => step.number === number);
  }

  /** Whether two steps have the same text. */
  same(a: number, b: number): boolean {
    return this.#textOf(a) === this.#textOf(b);
  }

  /** The lines of a step's text; none where it was left out. */
  lines(number: number): string[] {
    const index = this.#textOf(number);
    const known = this.#texts.get(index);
    if (known) return known;
    const lines: string[] = [];
    const ranges = this.passes.texts[index] ?? [];
    for (let k = 0; k < ranges.length; k += 2) {
      const start = ranges[k]!;
      for (let n = 0; n < ranges[k + 1]!; n++) lines.push(this.passes.lines[start + n]!);
    }
    this.#texts.set(index, lines);
    return lines;
  }

  text(number: number): string {
    return this.lines(number).join("\n");
  }

  /** Lines that match, each once: in the first step that has it, where it stands there first. */
  search(pattern: RegExp, most = 500): Hit[] {
    const isWanted = this.passes.lines.map((line) => pattern.test(line));
    if (!isWanted.includes(true)) return [];
    const hits: Hit[] = [];
    const seen = new Set<number>();
    for (const [k, step] of this.steps.entries()) {
      const index = this.passes.text_of[k]!;
      if (index < 0 || seen.has(index)) continue;
      seen.add(index);
      let line = 1;
      const ranges = this.passes.texts[index]!;
      for (let r = 0; r < ranges.length; r += 2) {
        for (let n = 0; n < ranges[r + 1]!; n++, line++) {
          const which = ranges[r]! + n;
          if (!isWanted[which]) continue;
          isWanted[which] = false;
          hits.push({ step: step.number, line, text: this.passes.lines[which]! });
          if (hits.length >= most) return hits;
        }
      }
    }
    return hits;
  }

  #textOf(number: number): number {
    return this.passes.text_of[this.steps.findIndex((step) => step.number === number)] ?? -1;
  }
}

async function decode<T>(name: string): Promise<T> {
  const element = document.querySelector<HTMLElement>(`script[data-blob="${CSS.escape(name)}"]`);
  if (!element) throw new Error(`this page has no "${name}"`);
  const bytes = Uint8Array.from(atob(element.textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as T;
}
