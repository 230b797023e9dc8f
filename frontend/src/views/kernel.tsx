import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>kernel {route.path.join(" ")}</p>;
}

export const kernel = component(View, { title: (route) => route.path[0] ?? "kernel", section: "kernels" });
