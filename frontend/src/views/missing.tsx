import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";
import { Empty } from "../ui/parts";

function Missing({ route }: ViewProps): JSX.Element {
  return (
    <Empty title={`There is no page "${route.page}"`}>
      The pages are named above; an address such as <code>#kernel/NAME</code> leads to one thing.
    </Empty>
  );
}

export const missing = component(Missing, { title: () => "nothing here", section: "" });
