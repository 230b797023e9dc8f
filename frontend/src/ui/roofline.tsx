// What each kernel reached against what the processor allows: operations a byte, operations a second, both logarithmic.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { KernelFacts } from "../data/types";
import { rate, seconds } from "../format";
import { go, link } from "../router";
import { useWidth } from "./width";

interface Props {
  kernels: KernelFacts[];
  /** GFLOP/s and GB/s; 0 where they aren't known. */
  peakGflops: number;
  peakGbps: number;
  hovered?: string | undefined;
  onHover?: (name: string | undefined) => void;
}

interface Point {
  kernel: KernelFacts;
  intensity: number;
}

const HEIGHT = 260;
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 24, 12, 34];

export function Roofline({ kernels, peakGflops, peakGbps, hovered, onHover }: Props): JSX.Element | null {
  const [root, width] = useWidth();
  const points = useMemo(() => pointsOf(kernels), [kernels]);
  if (!points.length) return null;
  const ridge = peakGflops && peakGbps ? peakGflops / peakGbps : undefined;
  const xs = decades([...points.map((p) => p.intensity), ...(ridge ? [ridge] : [])]);
  const ys = decades([...points.map((p) => p.kernel.gflops), ...(peakGflops ? [peakGflops] : [])]);
  const x = scale(xs, LEFT, width - RIGHT);
  const y = scale(ys, HEIGHT - BOTTOM, TOP);
  const roof =
    ridge && `M${x(xs[0])} ${y(xs[0] * peakGbps)} L${x(ridge)} ${y(peakGflops)} L${x(xs[1])} ${y(peakGflops)}`;
  const longest = Math.max(...points.map((p) => p.kernel.seconds));
  return (
    <figure class="chart" ref={root}>
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label="roofline: operations a second over operations a byte, by kernel"
      >
        <clipPath id="plot">
          <rect x={LEFT} y={TOP} width={Math.max(0, width - LEFT - RIGHT)} height={HEIGHT - TOP - BOTTOM} />
        </clipPath>
        {steps(xs).map((value) => (
          <g class="grid">
            <line x1={x(value)} x2={x(value)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text x={x(value)} y={HEIGHT - BOTTOM + 15} text-anchor="middle">
              {label(value)}
            </text>
          </g>
        ))}
        {steps(ys).map((value) => (
          <g class="grid">
            <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 7} y={y(value) + 4} text-anchor="end">
              {label(value)}
            </text>
          </g>
        ))}
        <text class="axis" x={width - RIGHT} y={HEIGHT - 4} text-anchor="end">
          operations a byte
        </text>
        <text class="axis" x={LEFT + 6} y={TOP + 12}>
          GFLOP/s
        </text>
        {roof && <path class="roof" d={roof} clip-path="url(#plot)" />}
        {points.map(({ kernel, intensity }) => (
          <circle
            cx={x(intensity)}
            cy={y(kernel.gflops)}
            r={3 + 9 * Math.sqrt(kernel.seconds / longest)}
            class={`${kernel.bound}${kernel.name === hovered ? " hovered" : ""}`}
            onMouseEnter={() => onHover?.(kernel.name)}
            onMouseLeave={() => onHover?.(undefined)}
            onClick={() => go(link.kernel(kernel.name))}
          >
            <title>{`${kernel.name}: ${seconds(kernel.seconds)}, ${rate(kernel.gflops)} GFLOP/s, ${rate(kernel.gbps)} GB/s, ${kernel.bound}-bound`}</title>
          </circle>
        ))}
      </svg>
      <figcaption class="dim">
        {`A circle a kernel, its area the time it took. ${ridge ? "The line is what the processor allows." : "The processor's peaks aren't known, so there is no roof."}`}
        {points.length < kernels.length &&
          ` ${kernels.length - points.length} kernels that only move data, or didn't run, aren't in it.`}
      </figcaption>
    </figure>
  );
}

function pointsOf(kernels: KernelFacts[]): Point[] {
  const found = kernels.filter((kernel) => kernel.flops && kernel.nbytes && kernel.seconds);
  return found
    .map((kernel) => ({ kernel, intensity: kernel.flops / kernel.nbytes }))
    .sort((a, b) => b.kernel.seconds - a.kernel.seconds);
}

/** From the power of ten below all values to the one above. */
function decades(values: number[]): [number, number] {
  const low = Math.floor(Math.log10(Math.min(...values)));
  return [10 ** low, 10 ** Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))];
}

function steps([low, high]: [number, number]): number[] {
  const found: number[] = [];
  for (let e = Math.round(Math.log10(low)); e <= Math.round(Math.log10(high)); e++) found.push(10 ** e);
  return found;
}

function scale([low, high]: [number, number], from: number, to: number): (value: number) => number {
  return (value) => from + ((to - from) * Math.log(value / low)) / Math.log(high / low);
}

function label(value: number): string {
  return value >= 1e6 || value < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(1)));
}
