import type { OperatorAuditEntry } from '../../src/console-api/operator/answers.ts'
import { t } from './text.ts'

/** The words of the API that pages show, in lower case. */
const WORDS: Record<string, string> = {
  // Statuses of messages, bulks, broadcasts, codes and deliveries.
  queued: t('queued'),
  scheduled: t('scheduled'),
  deferred: t('deferred'),
  sent: t('sent'),
  delivered: t('delivered'),
  read: t('read'),
  failed: t('failed'),
  canceled: t('canceled'),
  partly_canceled: t('partly canceled'),
  mostly_failed: t('mostly failed'),
  rescheduled: t('rescheduled'),
  processing: t('processing'),
  completed: t('completed'),
  draft: t('draft'),
  running: t('running'),
  paused: t('paused'),
  finished: t('finished'),
  pending: t('pending'),
  approved: t('approved'),
  expired: t('expired'),
  discarded: t('discarded'),
  // States of purchases, webhooks, workspaces and domains.
  paid: t('paid'),
  refunded: t('refunded'),
  disputed: t('disputed'),
  active: t('active'),
  disabled: t('disabled'),
  failing: t('failing'),
  frozen: t('frozen'),
  verified: t('verified'),
  mismatch: t('mismatch'),
  missing: t('missing'),
  connected: t('connected'),
  // Outcomes of calls to providers, and changes of credits.
  accepted: t('accepted'),
  rejected: t('rejected'),
  ambiguous: t('outcome unknown'),
  retry: t('to be tried again'),
  purchase: t('purchase'),
  grant: t('grant'),
  send: t('send'),
  refund: t('refund'),
  hold: t('hold'),
  settle: t('settle'),
  void: t('void'),
  adjustment: t('adjustment'),
  // Why a message is not sent.
  invalid_recipient: t('invalid recipient'),
  contact_not_found: t('contact not found'),
  missing_variable: t('missing variable'),
  invalid_variable: t('invalid variable'),
  invalid_content: t('invalid content'),
  invalid_metadata: t('invalid metadata'),
  country_not_allowed: t('country not allowed'),
  suppressed: t('suppressed'),
  duplicate: t('duplicate'),
  account_frozen: t('account frozen'),
  insufficient_credits: t('insufficient credits'),
  daily_limit: t('daily limit'),
  unroutable: t('unroutable'),
  undelivered: t('undelivered'),
  bounced: t('bounced'),
  opted_out: t('opted out'),
  outcome_unknown: t('outcome unknown'),
  // Roles of members, modes and scopes of keys.
  owner: t('owner'),
  admin: t('admin'),
  developer: t('developer'),
  billing: t('billing'),
  viewer: t('viewer'),
  operator: t('operator'),
  client: t('client'),
  service: t('service'),
  live: t('live'),
  test: t('test'),
  send_messages: t('send messages'),
  read_messages: t('read messages'),
  manage_contacts: t('manage contacts'),
  manage_webhooks: t('manage webhooks'),
  // Kinds of media and of templates, and types of variables.
  image: t('image'),
  video: t('video'),
  audio: t('audio'),
  document: t('document'),
  sticker: t('sticker'),
  transactional: t('transactional'),
  marketing: t('marketing'),
  layout: t('layout'),
  text: t('text'),
  number: t('number'),
  boolean: t('yes or no'),
  list: t('list'),
  // What operators see.
  problem: t('problem'),
  notice: t('notice'),
  ok: t('ok'),
  skipped: t('skipped'),
  warning: t('warning'),
  error: t('error'),
  environment: t('environment'),
  file: t('file'),
  default: t('default'),
}

/** A word of the API for people, within a sentence: `invalid recipient`. A word that is not known is shown with spaces. */
export function wordOf(word: string): string {
  return Object.hasOwn(WORDS, word) ? `${WORDS[word]}` : word.replaceAll('_', ' ')
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
