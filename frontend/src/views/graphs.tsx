import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>graphs {route.path.join(" ")}</p>;
}

export const graphs = component(View, { title: (route) => route.path[0] ?? "graphs", section: "graphs" });
