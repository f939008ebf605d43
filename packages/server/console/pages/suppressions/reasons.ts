/** The reasons of suppressions and their names. */
export const REASONS = [
  ['opt_out', 'Opted out'],
  ['bounce', 'Bounced'],
  ['complaint', 'Complained'],
  ['manual', 'Added by hand'],
] as const

/** The name of a reason, within a sentence. */
export function reasonName(reason: string): string {
  return REASONS.find(([id]) => id === reason)?.[1].toLowerCase() ?? reason
}
