import { t } from '../../shell/text.ts'
/** The reasons of suppressions and their names. */
export const REASONS = [
  ['opt_out', t('Opted out')],
  ['bounce', t('Bounced')],
  ['complaint', t('Complained')],
  ['manual', t('Added by hand')],
] as const

/** The name of a reason, within a sentence. */
export function reasonName(reason: string): string {
  return REASONS.find(([id]) => id === reason)?.[1].toLowerCase() ?? reason
}
