import type { OperatorAuditEntry } from '../../src/console-api/operator/answers.ts'
import { t } from './text.ts'

/** The words of the API that the languages have; those of English are the same with spaces. */
type Word =
  // Statuses of messages, bulks, broadcasts, codes and deliveries.
  | 'queued'
  | 'scheduled'
  | 'deferred'
  | 'sent'
  | 'delivered'
  | 'read'
  | 'failed'
  | 'canceled'
  | 'partly_canceled'
  | 'mostly_failed'
  | 'rescheduled'
  | 'processing'
  | 'completed'
  | 'draft'
  | 'running'
  | 'paused'
  | 'finished'
  | 'pending'
  | 'approved'
  | 'expired'
  | 'discarded'
  // States of purchases, webhooks, workspaces and domains.
  | 'paid'
  | 'refunded'
  | 'disputed'
  | 'active'
  | 'disabled'
  | 'failing'
  | 'frozen'
  | 'verified'
  | 'mismatch'
  | 'missing'
  | 'connected'
  // Outcomes of calls to providers, and changes of credits.
  | 'accepted'
  | 'rejected'
  | 'purchase'
  | 'grant'
  | 'send'
  | 'refund'
  | 'hold'
  | 'settle'
  | 'void'
  | 'adjustment'
  // Why a message is not sent.
  | 'invalid_recipient'
  | 'contact_not_found'
  | 'missing_variable'
  | 'invalid_variable'
  | 'invalid_content'
  | 'invalid_metadata'
  | 'country_not_allowed'
  | 'suppressed'
  | 'duplicate'
  | 'account_frozen'
  | 'insufficient_credits'
  | 'daily_limit'
  | 'unroutable'
  | 'undelivered'
  | 'bounced'
  | 'opted_out'
  | 'outcome_unknown'
  // Roles of members, modes and scopes of keys.
  | 'owner'
  | 'admin'
  | 'developer'
  | 'billing'
  | 'viewer'
  | 'operator'
  | 'client'
  | 'service'
  | 'live'
  | 'test'
  | 'send_messages'
  | 'read_messages'
  | 'manage_contacts'
  | 'manage_webhooks'
  // Kinds of media and of templates, and types of variables.
  | 'image'
  | 'video'
  | 'audio'
  | 'document'
  | 'sticker'
  | 'transactional'
  | 'marketing'
  | 'layout'
  | 'text'
  | 'number'
  | 'list'
  // What operators see.
  | 'problem'
  | 'notice'
  | 'ok'
  | 'skipped'
  | 'warning'
  | 'error'
  | 'environment'
  | 'file'
  | 'default'

/** The words of the API that English has in others. */
const OTHERS: Record<string, string> = {
  ambiguous: t('outcome unknown'),
  retry: t('to be tried again'),
  boolean: t('yes or no'),
}

/** A word of the API for people, within a sentence: `invalid recipient`. A word that is not known is shown with spaces. */
export function wordOf(word: Word | (string & {})): string {
  return Object.hasOwn(OTHERS, word) ? `${OTHERS[word]}` : t(word.replaceAll('_', ' '))
}

/** Errors of the API about what people wrote, in words without E.164 and the names of fields. */
const ERRORS: readonly [RegExp, (value: string) => string][] = [
  [
    /^Missing required field: (.+)/,
    (names) =>
      t('Fill in: {names}', { names: names.replace(/[\w.]*\./g, '').replaceAll('_', ' ') }),
  ],
  [
    /Phone number must be in E\.164 format: (".*") is not a phone number/,
    (number) => t('{number} is not a phone number', { number }),
  ],
  [
    /Phone number must be in E\.164 format: (".*") has no country code; .*/,
    (number) =>
      t(
        '{number} has no country code: set the country, or write the number with + and its country code',
        { number },
      ),
  ],
  [
    /Phone number must be in E\.164 format/,
    () => t('The phone number must have + and the country code, digits only'),
  ],
  [
    /Phone number (".*") is in scientific notation.*/,
    (number) =>
      t(
        '{number} is in scientific notation, without its last digits: format the column as text in the spreadsheet, and export the file again',
        { number },
      ),
  ],
  [
    /Phone number (".*") has another number or an extension: remove it/,
    (number) => t('{number} has another number or an extension: remove it', { number }),
  ],
  [
    /The address must be a phone number in E\.164 format, such as (\S+), or an e-mail address/,
    (number) =>
      t(
        'Write a phone number with + and its country code, such as {number}, or an e-mail address',
        {
          number,
        },
      ),
  ],
  [
    /Request body must be valid CSV: (.+)/,
    (reason) => t('The file cannot be read: {reason}', { reason }),
  ],
]

/** An error of the API in words for people; the error itself if there are none for it. */
export function inWords(error: string): string {
  return ERRORS.reduce(
    (text, [known, wordsOf]) => text.replace(known, (_, value) => wordsOf(value)),
    error,
  )
}

/** The name of an actor of the audit log, with the kind of an actor that is no person. */
export function actorName({ kind, id, name }: OperatorAuditEntry['actor']): string {
  if (kind === 'api_key') return t('API key {name}', { name: name ?? id })
  if (kind !== 'operator' && id && !name) return t('former member')
  return name ?? id ?? wordOf(kind)
}
