import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>summary {route.path.join(" ")}</p>;
}

export const summary = component(View, { title: (route) => route.path[0] ?? "summary", section: "summary" });
