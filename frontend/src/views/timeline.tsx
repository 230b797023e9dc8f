import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>timeline {route.path.join(" ")}</p>;
}

export const timeline = component(View, { title: (route) => route.path[0] ?? "timeline", section: "timeline" });
