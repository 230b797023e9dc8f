// How the passes are shown, as the user left it, for all owners.
export interface Settings {
  changedOnly: boolean;
  attributes: boolean;
  /** What each line stands for, in a column. */
  marks: boolean;
  /** Equal lines are folded. */
  folded: boolean;
  /** The later text alone. */
  alone: boolean;
  /** Values have their own names, not those of the earlier text. */
  names: boolean;
}

export const initial: Settings = {
  changedOnly: true,
  attributes: true,
  marks: false,
  folded: true,
  alone: false,
  names: false,
};
