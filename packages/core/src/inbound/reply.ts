import { units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import { UNSETTLED } from '../rows/messages.ts'
import type { MessageRow, ReceivedMessageRow } from '../rows/rows.ts'
import { segments } from '../sms/index.ts'

/**
 * The reply to each keyword; null: no reply. `{{workspace}}` is replaced by the name of the workspace that last wrote to
 * the recipient.
 */
export type ReplyTexts = Readonly<Record<Keyword, string | null>>

/** Each text says what happened, how to undo it, and who the sender is. Source: CTIA Messaging Principles, section 5.1.2. */
export const REPLY_TEXTS: ReplyTexts = {
  stop: '{{workspace}}: you will get no more messages from this number. Reply START to get them again.',
  start: '{{workspace}}: you will get messages from this number again. Reply STOP to get no more.',
  help: '{{workspace}}: this is an automatic answer. Reply STOP to get no more messages from this number. Message and data rates may apply.',
}

const PLACEHOLDER = /\{\{\s*workspace\s*\}\}/g
const LINES_AND_CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** A text with the name filled in, cut to the longest SMS. */
export function replyText(text: string, workspaceName: string): string {
  const name = workspaceName.replace(LINES_AND_CONTROLS, ' ').trim()
  const filled = text.replace(PLACEHOLDER, () => name)
  return filled.slice(0, LIMITS.sms_text_length).toWellFormed()
}

/** The reply to a received message: free of charge, sent at once. */
export function replyTo(
  { workspace_id, channel, sender: recipient }: ReceivedMessageRow,
  text: string,
  { id, at, livemode, sender }: Pick<MessageRow, 'id' | 'livemode' | 'sender'> & { at: Date },
): MessageRow {
  const counted = channel === 'sms' ? segments(text) : null
  return {
    id,
    workspace_id,
    api_key_id: null,
    bulk_id: null,
    channel,
    sender,
    recipient,
    recipients: null,
    tags: null,
    content: { text },
    metadata: {},
    livemode,
    credits_used: units(0),
    segments: counted?.segments ?? null,
    encoding: counted?.encoding ?? null,
    created_at: at,
    updated_at: at,
    scheduled_at: null,
    expires_at: new Date(at.getTime() + REPLY_LIFETIME_MS),
    erased_at: null,
    status_callback: null,
    template: null,
    template_version: null,
    template_locale: null,
    deferred_until: null,
    ...UNSETTLED,
  }
}

/** A reply after a day is useless. */
const REPLY_LIFETIME_MS = 24 * 3_600_000

/** The meaning of a keyword. Source: CTIA Messaging Principles, section 5.1.2; 47 CFR 64.1200(a)(10). */
export type Keyword = 'stop' | 'start' | 'help'

const WORDS: ReadonlyMap<string, Keyword | 'yes'> = new Map(
  Object.entries({
    stop: [
      'STOP',
      'STOPALL',
      'STOP ALL',
      'UNSUBSCRIBE',
      'CANCEL',
      'END',
      'QUIT',
      'REVOKE',
      'OPTOUT',
      'OPT OUT',
      'ARRET',
      'ARRÊT',
    ],
    start: ['START', 'UNSTOP'],
    help: ['HELP', 'INFO'],
    yes: ['YES'],
  }).flatMap(([keyword, words]) => words.map((word) => [word, keyword as Keyword | 'yes'])),
)

/** Longer texts are not keywords, even if they are one word between punctuation marks. */
const LENGTH_MAX = 160

const INVISIBLE = /\p{Cf}/gu
const LEADING = /^[^\p{L}\p{N}]+/u
const TRAILING = /(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u

/**
 * The keyword that a text consists of, in any case and character width, with any punctuation around it; otherwise null.
 * `yes` counts as `start` only from a recipient who opted out.
 *
 * @example keywordOf('“Stop!” 🙏') // 'stop'
 * @example keywordOf('please stop') // null
 */
export function keywordOf(text: string): Keyword | 'yes' | null {
  if (text.length > LENGTH_MAX) return null
  const visible = text.normalize('NFKC').replace(INVISIBLE, '')
  const bare = visible.replace(LEADING, '').replace(TRAILING, '')
  return WORDS.get(bare.replace(/\s+/g, ' ').toUpperCase()) ?? null
}
