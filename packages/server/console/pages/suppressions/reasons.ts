import { t } from '../../shell/text.ts'

/** The reasons of suppressions and their names. */
export const REASONS = [
  ['opt_out', t('Opted out')],
  ['bounce', t('Bounced')],
  ['complaint', t('Complained')],
  ['manual', t('Added by hand')],
] as const

const WORDS: Record<string, string> = {
  opt_out: t('opted out'),
  bounce: t('bounced'),
  complaint: t('complained'),
  manual: t('added by hand'),
}

/** The name of a reason, within a sentence. */
export function reasonName(reason: string): string {
  return WORDS[reason] ?? reason
}
