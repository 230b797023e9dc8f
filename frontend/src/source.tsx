// The program's files: #source/FILE?line=N.
import type { JSX } from "preact";
import { component, type ViewProps } from "./ui/component";
import { Loaded } from "./ui/loaded";

function Source({ app, route }: ViewProps): JSX.Element {
  return (
    <Loaded of="sources" load={() => app.data.sources()}>
      {(sources) => <pre>{sources[route.path[0] ?? Object.keys(sources)[0] ?? ""]}</pre>}
    </Loaded>
  );
}

export const source = component(Source, { title: (route) => route.path[0] ?? "source", section: "source" });
