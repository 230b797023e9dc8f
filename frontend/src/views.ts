// Which view shows which page. The two big ones, passes and source, each live in files of their own.
import type { Data } from "./data/store";
import type { Route } from "./router";
import type { View } from "./view";
import { failures } from "./views/failures";
import { graph } from "./views/graph";
import { graphs } from "./views/graphs";
import { kernel } from "./views/kernel";
import { kernels } from "./views/kernels";
import { missing } from "./views/missing";
import { passesOfGraph, passesOfKernel } from "./passes";
import { search } from "./views/search";
import { source } from "./source";
import { summary } from "./views/summary";
import { timeline } from "./views/timeline";

const VIEWS: Record<string, View> = { failures, summary, graphs, graph, kernels, kernel, timeline, search, source };

/** The view of a route: `#graph/NAME/pass/…` and `#kernel/NAME/pass/…` are passes. */
export function viewOf(route: Route): View {
  if (route.path[1] === "pass") return route.page === "graph" ? passesOfGraph : passesOfKernel;
  return VIEWS[route.page] ?? missing;
}

/** Where the page opens. */
export function start(data: Data): string {
  return data.page.failures.length ? "#failures" : "#summary";
}
