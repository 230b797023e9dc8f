import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>failures {route.path.join(" ")}</p>;
}

export const failures = component(View, { title: (route) => route.path[0] ?? "failures", section: "failures" });
