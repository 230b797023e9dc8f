// The passes of a graph or kernel: #graph/NAME/pass/N, #kernel/NAME/pass/N.
import type { JSX } from "preact";
import { seconds } from "./format";
import { link } from "./router";
import { component, type ViewProps } from "./ui/component";
import { Loaded } from "./ui/loaded";

function Passes({ app, route }: ViewProps): JSX.Element {
  const owner = `${route.page}s/${route.path[0]}`;
  return (
    <Loaded of={owner} load={() => app.data.passes(owner)}>
      {(passes) => {
        const number = Number(route.path[2] ?? passes.steps.at(-1)?.number);
        return (
          <div class="two">
            <ol class="plain">
              {passes.steps.map((step) => (
                <li key={step.number}>
                  <a href={link.pass(owner, step.number)}>
                    {step.stage} {step.name}
                  </a>{" "}
                  {seconds(step.seconds)}
                </li>
              ))}
            </ol>
            <pre>{passes.text(number)}</pre>
          </div>
        );
      }}
    </Loaded>
  );
}

export const passes = component(Passes, {
  title: (route) => `passes of ${route.path[0]}`,
  section: "kernels",
});
