import type { Receipt } from '../../contract/outside/provider.ts'
import { type Delivery, TLV } from './pdu.ts'
import type { SmppSettings } from './settings.ts'

export type IdForm = SmppSettings['id_form']

const ID = /^[\x21-\x7e]{1,64}$/

/** The id of a submit_sm_resp, normalized for comparison; null if it is unusable. */
export function submittedId(id: string, form: IdForm): string | null {
  const trimmed = id.trim()
  if (!ID.test(trimmed)) return null
  return form === 'as_is' ? trimmed : folded(trimmed)
}

/** The id of a receipt, converted to the form of submit_sm_resp. An id that does not match the setting stays unchanged. */
function convertedId(id: string, form: IdForm): string {
  if (form === 'hex_to_decimal' && /^[0-9a-f]+$/i.test(id)) return BigInt(`0x${id}`).toString()
  if (form === 'decimal_to_hex' && /^\d+$/.test(id)) return BigInt(id).toString(16)
  return form === 'as_is' ? id : folded(id)
}

function folded(id: string): string {
  return id.toLowerCase().replace(/^0+(?=.)/, '')
}

/** The labels of a receipt. Their order differs between SMSCs, because SMPP 3.4 appendix B is only an example. */
interface Labels {
  id: string | null
  state: string | null
  error: string | null
}

/** The value of a label is empty if the next label follows. */
const label = (name: string, value: string) =>
  new RegExp(
    `\\b${name}:\\s*(?!(?:id|sub|dlvrd|submit[ _]?date|done[ _]?date|stat|err|text):)(${value})`,
    'i',
  )

const LABELS = {
  id: label('id', '\\S+'),
  state: label('stat', '[a-z]+'),
  error: label('err', '\\w+'),
}

function labelsOf(text: string): Labels {
  // After `text:` comes the start of the message, whose author could write labels there.
  const end = text.search(/\btext:/i)
  const own = end < 0 ? text : text.slice(0, end)
  // Some SMSCs put `text:` first and the labels after it.
  const labelled = end >= 0 && own.trim() === '' ? text : own
  const find = (label: RegExp) => label.exec(labelled)?.[1] ?? null
  return {
    id: find(LABELS.id),
    state: find(LABELS.state)?.toUpperCase() ?? null,
    error: LABELS.error.exec(own)?.[1]?.slice(0, 16) ?? null,
  }
}

/** The index is the value of message_state: SMPP 3.4 section 5.2.28. */
const STATES = [
  'SCHEDULED',
  'ENROUTE',
  'DELIVRD',
  'EXPIRED',
  'DELETED',
  'UNDELIV',
  'ACCEPTD',
  'UNKNOWN',
  'REJECTD',
  'SKIPPED',
] as const

interface Failure {
  error_code: string
  text: string
}

const UNDELIVERED: Failure = {
  error_code: 'undeliverable',
  text: 'The message could not be delivered',
}

/** The states that mean a delivery: the word of appendix B, and how SMSCs write it in full. */
const DELIVERED: ReadonlySet<string | null> = new Set(['DELIVRD', 'DELIVERD', 'DELIVERED'])

/**
 * The states that mean a failure: the words of appendix B, the words of section 5.2.28 that they shorten, and other
 * words that SMSCs use.
 */
const FAILURES: Readonly<Record<string, Failure>> = {
  EXPIRED: { error_code: 'expired', text: 'The validity period ended before the delivery' },
  UNDELIV: UNDELIVERED,
  UNDELIVRD: UNDELIVERED,
  UNDELIVERD: UNDELIVERED,
  UNDELIVERED: UNDELIVERED,
  UNDELIVERABLE: UNDELIVERED,
  DELETED: { error_code: 'undeliverable', text: 'The message was deleted' },
  REJECTD: { error_code: 'rejected', text: 'The message was refused' },
  REJECTED: { error_code: 'rejected', text: 'The message was refused' },
  FAILED: UNDELIVERED,
  SKIPPED: { error_code: 'undeliverable', text: 'The message was skipped' },
}

const UNKNOWN_FAILURE: Failure = {
  error_code: 'undeliverable',
  text: 'The state of the message is unknown',
}

/** The receipt of a delivery report; null if it does not name a message. */
export function receiptOf(
  delivery: Delivery,
  text: string,
  { id_form, unknown_as }: Pick<SmppSettings, 'id_form' | 'unknown_as'>,
  isIntermediate: boolean,
): Receipt | null {
  const labels = labelsOf(text)
  const id = idOf(delivery, labels.id, id_form)
  if (id === null) return null
  const number = delivery.tlvs.get(TLV.message_state)?.[0]
  const state = (number === undefined ? undefined : STATES[number]) ?? labels.state
  const status = statusOf(state, unknown_as)
  const base = { provider_message_id: id, error_code: null, error_message: null }
  // An intermediate failure is not final.
  if (status !== 'failed' || isIntermediate) {
    return { ...base, status: status === 'failed' ? 'sent' : status }
  }
  const failure = FAILURES[state ?? ''] ?? UNKNOWN_FAILURE
  const cause = networkErrorOf(delivery) ?? labels.error
  const suffix = cause === null ? '' : ` (error ${cause})`
  return {
    ...base,
    status,
    error_code: failure.error_code,
    error_message: `smpp:${state} ${failure.text}${suffix}`,
  }
}

/**
 * Returns the id of a receipt. If the id in a TLV differs from the id in the text, it already has the form of
 * submit_sm_resp: SMSCs add the TLV because their texts use another form.
 */
function idOf({ tlvs }: Delivery, label: string | null, form: IdForm): string | null {
  const own = tlvs.get(TLV.receipted_message_id)?.toString('latin1').replace(/\0.*$/s, '').trim()
  const inText = label !== null && ID.test(label) ? label : null
  if (own === undefined || !ID.test(own)) return inText === null ? null : convertedId(inText, form)
  return inText === null || inText === own ? convertedId(own, form) : submittedId(own, form)
}

function statusOf(
  state: string | null,
  unknown_as: SmppSettings['unknown_as'],
): 'sent' | 'delivered' | 'failed' {
  if (DELIVERED.has(state)) return 'delivered'
  if (state === 'UNKNOWN') return unknown_as
  return state !== null && Object.hasOwn(FAILURES, state) ? 'failed' : 'sent'
}

/** Reads the kind of network and its error code: SMPP 3.4 section 5.3.2.31. */
function networkErrorOf({ tlvs }: Delivery): string | null {
  const value = tlvs.get(TLV.network_error_code)
  if (value?.length !== 3) return null
  const code = value.readUInt16BE(1)
  return code === 0 ? null : `${value[0]}:${code}`
}
