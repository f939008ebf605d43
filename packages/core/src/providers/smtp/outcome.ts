import type { Outcome, RecipientOutcome } from '../../contract/outside/provider.ts'
import { causeIn, type EnhancedStatus, isGone } from './recipient-status.ts'
import type { Failure, RefusedRecipient } from './transport.ts'

type Failed = Exclude<Outcome, { type: 'accepted' }>

/** The meaning of a server's answer. */
interface Meaning {
  kind: 'rejected' | 'retry' | 'misconfigured'
  error_code: string
  text: string
  suppress?: 'bounce'
}

/** A parsed reply: `550 5.1.1 …` (RFC 5321 section 4.2, RFC 2034). */
interface Reply {
  code: number
  enhanced: string | null
  stage: string
  text: string
}

const UNAVAILABLE = retry('provider_unavailable', 'The mail server does not accept mail now')
const UNREACHABLE = { ...UNAVAILABLE, text: 'The mail server cannot be reached' }
const BROKEN = { ...UNAVAILABLE, text: 'The connection ended before the mail was sent' }
const LATE = { ...UNAVAILABLE, text: 'The mail server did not accept the mail in time' }
const RATE = retry('rate_limited', 'Too many mails to this recipient or from this account')
const FULL = retry('mailbox_full', 'The mailbox is full')
const UNAUTHORIZED = misconfigured(
  'provider_unauthorized',
  'The mail server does not accept the user name and password',
)
const NO_RELAY = { ...UNAUTHORIZED, text: 'The mail server does not relay for this account' }
const INSECURE = misconfigured(
  'provider_insecure',
  'No connection to the mail server could be secured',
)
const REFUSES_US = misconfigured('provider_refused', 'The mail server refuses this client')
const BAD_SENDER = misconfigured(
  'sender_invalid',
  'The mail server does not accept mail from this domain or address',
)
const NO_SUCH = rejected('invalid_recipient', 'The recipient does not exist')
const ADDRESS = rejected('invalid_recipient', 'The mail server does not accept the address')
const TOO_LARGE = rejected('too_large', 'The mail is too large for the mail server')
const BLOCKED = rejected('blocked', 'The mail violates a policy of the mail server')
const REFUSED = rejected('refused', 'The mail server refuses the mail')
const MISUNDERSTOOD = {
  ...REFUSED,
  text: 'The mail server does not understand an address of the mail, or a parameter with it',
}

function retry(error_code: string, text: string): Meaning {
  return { kind: 'retry', error_code, text }
}

function misconfigured(error_code: string, text: string): Meaning {
  return { kind: 'misconfigured', error_code, text }
}

function rejected(error_code: string, text: string): Meaning {
  return { kind: 'rejected', error_code, text }
}

/** Codes of OpenSSL and Node for an invalid certificate, or for a peer without TLS. */
const TLS_CAUSE = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_|EPROTO$)/

/** Codes about authentication. RFC 4954 section 6. */
const NOT_AUTHENTICATED = new Set([530, 534, 535, 538])

/**
 * The outcome of a mail that a server did not accept. The server's answer decides: the library's code is the same for
 * a full mailbox and for a missing one. The texts are ours, because servers' texts repeat addresses. Without an
 * answer, the outcome depends on whether the mail was written to its end.
 */
export function outcomeOf(failure: Failure): Failed {
  const reply = replyOf(failure)
  if (reply) return inWords(meaningOf(reply), labelOf(reply))
  if (failure.is_written) {
    return {
      type: 'ambiguous',
      error_code: 'no_answer',
      error_message: `smtp:${failure.code} The mail was handed over and no answer came`,
    }
  }
  return inWords(unanswered(failure), failure.cause ?? failure.code)
}

/**
 * The result for one of several recipients that a server refused in the envelope: the mail is sent again to a recipient that
 * was refused for now. A refusal of the whole account fails only this recipient if the server accepted others.
 */
export function recipientOutcome({ address, failure }: RefusedRecipient): RecipientOutcome {
  const { type, error_code, error_message, ...more } = outcomeOf(failure)
  const isTemporary = type === 'retry' && !('misconfigured' in more)
  if (isTemporary) return { address, type: 'retry', error_code, error_message }
  const suppress = 'suppress' in more ? more.suppress : undefined
  return { address, type: 'rejected', error_code, error_message, ...(suppress && { suppress }) }
}

/**
 * The outcome of a mail to several recipients that no recipient got. Each refused recipient keeps its own reason; the mail is
 * sent again if a recipient was refused for now.
 */
export function ofNone(
  { failure, refused }: { failure: Failure; refused: readonly RefusedRecipient[] },
  recipients: readonly RecipientOutcome[],
): Outcome {
  const whole = outcomeOf(failure)
  if (refused.length === 0 || failure.stage !== 'RCPT TO') return whole
  const each = refused.map((one) => outcomeOf(one.failure))
  const misconfigured = each.find((one) => one.type === 'retry' && one.misconfigured)
  if (misconfigured) return misconfigured
  const temporary = each.find(({ type }) => type === 'retry')
  return { ...(temporary ?? each[0] ?? whole), recipients }
}

/** Describes the problem for the operator. */
export function faultOf(failure: Failure): string {
  return outcomeOf(failure).error_message
}

function inWords({ kind, error_code, text, suppress }: Meaning, label: string): Failed {
  const words = { error_code, error_message: `smtp:${label} ${text}` }
  if (kind === 'rejected') return { type: 'rejected', ...words, ...(suppress && { suppress }) }
  const isOurs = kind === 'misconfigured'
  return { type: 'retry', ...words, delay_ms: null, ...(isOurs && { misconfigured: 'provider' }) }
}

function labelOf({ code, enhanced }: Reply): string {
  return enhanced === null ? String(code) : `${code} ${enhanced}`
}

function replyOf({ reply, stage }: Failure): Reply | null {
  const match =
    reply === null ? null : /^([45]\d\d)(?:[ -]([245]\.\d{1,3}\.\d{1,3})\b)?/.exec(reply)
  if (!match) return null
  return { code: Number(match[1]), enhanced: match[2] ?? null, stage, text: reply as string }
}

function unanswered({ code, cause, stage }: Failure): Meaning {
  if (code === 'EAUTH' || code === 'ENOAUTH') return UNAUTHORIZED
  if (code === 'ETLS' || (cause !== null && TLS_CAUSE.test(cause))) return INSECURE
  if (code === 'EENVELOPE' && stage === 'API') return NO_SUCH
  if (code === 'EABORT') return LATE
  return cause !== null || code === 'EDNS' ? UNREACHABLE : BROKEN
}

function meaningOf(reply: Reply): Meaning {
  return reply.code < 500 ? ofTransient(reply) : (ofAccount(reply) ?? ofMail(reply))
}

function ofTransient({ enhanced }: Reply): Meaning {
  if (enhanced === '4.2.2') return FULL
  return enhanced === '4.2.1' || enhanced === '4.7.28' ? RATE : UNAVAILABLE
}

/** The meaning of a reply that concerns every mail; null if the reply concerns one recipient. */
function ofAccount({ code, enhanced, stage, text }: Reply): Meaning | null {
  if (stage.startsWith('AUTH') || NOT_AUTHENTICATED.has(code)) return UNAUTHORIZED
  if (stage === 'STARTTLS') return INSECURE
  // Server and client disagree about the state of the session. The next mail gets a new session.
  if (code === 503) return UNAVAILABLE
  if (stage === 'CONN' || stage === 'EHLO' || stage === 'HELO') return REFUSES_US
  if (enhanced === '5.4.5') return RATE
  if (enhanced === '5.1.7' || enhanced === '5.1.8') return BAD_SENDER
  if (stage === 'MAIL FROM' && isMisunderstood(code, enhanced)) {
    return { ...MISUNDERSTOOD, kind: 'misconfigured', error_code: 'provider_refused' }
  }
  if (stage === 'MAIL FROM' && !isSize(code, enhanced)) return BAD_SENDER
  return stage === 'RCPT TO' && isAboutRelaying(enhanced, text) ? NO_RELAY : null
}

function isAboutRelaying(enhanced: string | null, text: string): boolean {
  const isPolicy = enhanced === null || enhanced.startsWith('5.7.')
  return isPolicy && /\brelay/i.test(withoutAddresses(text))
}

/**
 * Removes the addresses and domains that a server repeats: callers choose them, and the word "relay" in them must not pause
 * the provider for other workspaces.
 */
function withoutAddresses(text: string): string {
  const words = text.replace(/<[^<>]*>/g, ' ').split(/\s/)
  const others = words.filter((word) => !word.includes('@'))
  return others.join(' ').replace(/(?<![\w-])[\w-]+(?:\.[\w-]+)+/g, ' ')
}

function ofMail({ code, enhanced, stage, text }: Reply): Meaning {
  const isRecipient = stage === 'RCPT TO'
  if (enhanced === '5.2.2' || (code === 552 && enhanced === null && isRecipient)) return FULL
  if (isSize(code, enhanced)) return TOO_LARGE
  if (isMisunderstood(code, enhanced)) return MISUNDERSTOOD
  if (enhanced !== null && isGone(statusOf(enhanced))) return missing(text)
  // 5.1.9 is about the sender: RFC 3463, section 3.2.
  if (enhanced?.startsWith('5.1.') && enhanced !== '5.1.9') return ADDRESS
  if (enhanced?.startsWith('5.7.')) return BLOCKED
  // Without an enhanced code the cause may be a policy: the mail is rejected, and the address is not suppressed.
  return isRecipient && enhanced === null && code !== 554 ? NO_SUCH : REFUSED
}

/** The meaning of a status for a missing recipient; the server's words may name another cause. */
function missing(text: string): Meaning {
  const cause = causeIn(text)
  if (cause === null) return { ...NO_SUCH, suppress: 'bounce' }
  if (cause === 'full') return FULL
  return cause === 'rate' ? RATE : BLOCKED
}

function statusOf(enhanced: string): EnhancedStatus {
  const [kind = 0, subject = 0, detail = 0] = enhanced.split('.').map(Number)
  return [kind, subject, detail]
}

/** Whether the server does not know a parameter: RFC 5321 section 4.2.3, RFC 3463 section 3.6. */
function isMisunderstood(code: number, enhanced: string | null): boolean {
  return code === 555 || enhanced === '5.5.4'
}

function isSize(code: number, enhanced: string | null): boolean {
  return enhanced === '5.3.4' || enhanced === '5.2.3' || (code === 552 && enhanced === null)
}
