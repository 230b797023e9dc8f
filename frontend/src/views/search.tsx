import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>search {route.path.join(" ")}</p>;
}

export const search = component(View, { title: (route) => route.path[0] ?? "search", section: "search" });
