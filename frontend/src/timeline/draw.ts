// The timeline on a canvas. Spans that are narrower than a pixel become one where they are; a lane is read once a frame.
import type { Timeline } from "../data/types";
import { bytes, moment } from "../format";
import { firstAt, type Lane, lowerBound } from "./lanes";

export const LABEL = 78;
export const LANE = 26;
const AXIS = 22;
const MEMORY = 84;
const GAP = 6;

export interface Sight {
  from: number;
  to: number;
}

/** Which span is pointed at. */
export interface Pointed {
  lane: number;
  k: number;
}

export function heightOf(lanes: Lane[], timeline: Timeline): number {
  return AXIS + lanes.length * (LANE + GAP) + (timeline.memory.length ? MEMORY : 0) + 4;
}

export function laneAt(y: number): number {
  return Math.floor((y - AXIS) / (LANE + GAP));
}

export function momentAt(x: number, width: number, sight: Sight): number {
  return sight.from + ((x - LABEL) / (width - LABEL)) * (sight.to - sight.from);
}

interface Colours {
  ink: string;
  faint: string;
  line: string;
  paper: string;
  kinds: string[];
}

export function draw(
  canvas: HTMLCanvasElement,
  width: number,
  timeline: Timeline,
  lanes: Lane[],
  sight: Sight,
  pointed: Pointed | null,
): void {
  const height = heightOf(lanes, timeline);
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colours = coloursOf(canvas);
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = "middle";
  drawAxis(context, width, height, sight, colours);
  lanes.forEach((lane, k) => {
    const y = AXIS + k * (LANE + GAP);
    context.fillStyle = colours.faint;
    context.fillText(lane.name, 0, y + LANE / 2);
    drawLane(context, width, y, timeline, lane, sight, colours, pointed?.lane === k ? pointed.k : -1);
  });
  if (timeline.memory.length) drawMemory(context, width, height, timeline, sight, colours);
}

function drawLane(
  context: CanvasRenderingContext2D,
  width: number,
  y: number,
  timeline: Timeline,
  lane: Lane,
  sight: Sight,
  colours: Colours,
  pointed: number,
): void {
  const scale = (width - LABEL) / (sight.to - sight.from);
  let filled = -1; // The last pixel that has something.
  for (let k = firstAt(lane, sight.from); k < lane.at.length && lane.at[k]! < sight.to; k++) {
    const left = Math.max(LABEL, LABEL + (lane.at[k]! - sight.from) * scale);
    const right = Math.min(width, LABEL + (lane.at[k]! + lane.seconds[k]! - sight.from) * scale);
    if (right < LABEL || (right <= filled && k !== pointed)) continue;
    const drawn = Math.max(1, right - left - (right - left > 3 ? 0.5 : 0));
    context.fillStyle = k === pointed ? colours.ink : colours.kinds[lane.kind[k]!]!;
    context.fillRect(left, y, drawn, LANE);
    filled = Math.floor(left + drawn);
    if (drawn > 48)
      drawName(
        context,
        timeline.names[lane.what[k]!] ?? "",
        left,
        y,
        drawn,
        isDark(context.fillStyle) ? "#fff" : "#111",
      );
  }
}

function drawName(
  context: CanvasRenderingContext2D,
  name: string,
  left: number,
  y: number,
  width: number,
  colour: string,
): void {
  context.save();
  context.beginPath();
  context.rect(left, y, width - 3, LANE);
  context.clip();
  context.fillStyle = colour;
  context.fillText(name, left + 4, y + LANE / 2 + 0.5);
  context.restore();
}

function drawAxis(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  sight: Sight,
  colours: Colours,
): void {
  const step = niceStep((sight.to - sight.from) / Math.max(2, (width - LABEL) / 110));
  const scale = (width - LABEL) / (sight.to - sight.from);
  context.fillStyle = colours.faint;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  for (let t = Math.ceil(sight.from / step) * step; t <= sight.to; t += step) {
    const x = Math.round(LABEL + (t - sight.from) * scale) + 0.5;
    context.beginPath();
    context.moveTo(x, AXIS - 4);
    context.lineTo(x, height);
    context.stroke();
    if (x < width - 40) context.fillText(moment(Math.abs(t) < step / 2 ? 0 : t, step), x + 3, AXIS / 2 - 2);
  }
}

function drawMemory(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  timeline: Timeline,
  sight: Sight,
  colours: Colours,
): void {
  const { memory, memory_at: at } = timeline;
  const most = memory.reduce((a, b) => Math.max(a, b), 1);
  const bottom = height - 4;
  const y = (value: number): number => bottom - (value / most) * (MEMORY - 22);
  const x = (moment: number): number => LABEL + ((moment - sight.from) / (sight.to - sight.from)) * (width - LABEL);
  const first = Math.max(0, lowerBound(at, sight.from) - 1);
  context.beginPath();
  context.moveTo(LABEL, bottom);
  let level = at[0]! <= sight.from ? memory[first]! : 0;
  context.lineTo(LABEL, y(level));
  for (let k = first; k < at.length && at[k]! < sight.to; k++) {
    const here = Math.max(LABEL, x(at[k]!));
    context.lineTo(here, y(level));
    level = memory[k]!;
    context.lineTo(here, y(level));
  }
  context.lineTo(width, y(level));
  context.lineTo(width, bottom);
  context.fillStyle = colours.kinds[0]!;
  context.globalAlpha = 0.55;
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = colours.faint;
  context.fillText("memory", 0, bottom - MEMORY / 2 + 12);
  context.fillText(bytes(most), 0, bottom - MEMORY / 2 + 26);
}

/** 1, 2 or 5 times a power of ten, not below `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10);
}

/** The theme's colours, resolved: a canvas knows no custom properties. */
function coloursOf(canvas: HTMLElement): Colours {
  const probe = document.createElement("span");
  canvas.parentElement!.append(probe);
  const resolved = (colour: string): string => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const mixed = (share: number, with_ = "var(--paper)"): string =>
    resolved(`color-mix(in srgb, var(--accent) ${share}%, ${with_})`);
  const found = {
    ink: resolved("var(--ink)"),
    faint: resolved("var(--faint)"),
    line: resolved("var(--line)"),
    paper: resolved("var(--paper)"),
    kinds: [mixed(40), mixed(100), mixed(70), resolved("var(--faint)"), mixed(85), mixed(55), mixed(55)],
  };
  probe.remove();
  return found;
}

function isDark(colour: string | CanvasGradient | CanvasPattern): boolean {
  const text = String(colour);
  const hex = /^#(..)(..)(..)$/
    .exec(text)
    ?.slice(1)
    .map((part) => Number.parseInt(part, 16) / 255);
  const parts = hex ??
    text
      .match(/[\d.]+/g)
      ?.slice(0, 3)
      .map((part) => Number(part) / (text.startsWith("rgb") ? 255 : 1)) ?? [0, 0, 0];
  const [red = 0, green = 0, blue = 0] = parts;
  return 0.299 * red + 0.587 * green + 0.114 * blue < 0.6;
}
