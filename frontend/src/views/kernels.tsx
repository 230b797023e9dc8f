import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>kernels {route.path.join(" ")}</p>;
}

export const kernels = component(View, { title: (route) => route.path[0] ?? "kernels", section: "kernels" });
