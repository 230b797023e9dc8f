// The time of each line, as a column whose ground is the warmer the more of the file's time the line has.
import type { Extension } from "@codemirror/state";
import { column } from "../code/editor";
import type { Spot } from "../data/types";
import { seconds } from "../format";

const LEVELS = 5;

export function heatColumn(spots: Map<number, Spot[]>): Extension {
  const time = new Map([...spots].map(([line, here]) => [line, here.reduce((sum, spot) => sum + spot.seconds, 0)]));
  const most = Math.max(...time.values(), 1e-12);
  return column("heat", (line) => {
    const here = time.get(line);
    if (here === undefined) return null;
    return here ? [seconds(here), `heat-${Math.ceil((here / most) * LEVELS)}`] : ["·"];
  });
}
