// Small parts that all views share.
import type { ComponentChildren, JSX } from "preact";
import { link } from "../router";

type Children = { children?: ComponentChildren };

/** Says why there is nothing. */
export function Empty({ title, children }: Children & { title: string }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <p>{children}</p>
    </div>
  );
}

export function Section({
  title,
  note,
  id,
  children,
}: Children & { title: string; note?: ComponentChildren; id?: string }): JSX.Element {
  return (
    <section id={id}>
      <h2>
        {title}
        {note !== undefined && note !== "" && <span class="note">{note}</span>}
      </h2>
      {children}
    </section>
  );
}

/** A Python line, which leads to it. */
export function Place({ at }: { at: string }): JSX.Element | null {
  if (at.endsWith(":0")) return <span class="dim">not known</span>;
  return at ? (
    <a class="place" href={link.source(at)} title={at}>
      {short(at)}
    </a>
  ) : null;
}

export function Places({ at, most = 3 }: { at: string[]; most?: number }): JSX.Element {
  return (
    <>
      {at.slice(0, most).map((place, k) => (
        <>
          {k > 0 && ", "}
          <Place at={place} />
        </>
      ))}
      {at.length > most && <span class="dim"> +{at.length - most}</span>}
    </>
  );
}

/** A name of a graph or kernel that leads to it. */
export function Name({ of, kind }: { of: string; kind: "graph" | "kernel" }): JSX.Element {
  return (
    <a class="name" href={link[kind](of)}>
      {of}
    </a>
  );
}

export function Copy({ text, label = "copy" }: { text: string; label?: string }): JSX.Element {
  const copy = (event: MouseEvent): void => {
    const button = event.currentTarget as HTMLButtonElement;
    void navigator.clipboard.writeText(text).then(() => {
      button.textContent = "copied";
      setTimeout(() => (button.textContent = label), 1200);
    });
  };
  return (
    <button type="button" class="quiet no-print" onClick={copy}>
      {label}
    </button>
  );
}

/** The file's name and line: paths stay in the title. */
export function short(place: string): string {
  return place.replace(/^.*[\\/]/, "");
}
