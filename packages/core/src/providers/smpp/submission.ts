import type { SendJob } from '../../contract/outside/provider.ts'
import { destinationOf, sourceOf } from './address.ts'
import { partsOf } from './message-parts.ts'
import { submitSm } from './pdu.ts'
import type { SmppSettings } from './settings.ts'

/** The error of a message that no SMSC could accept. */
export interface Unsendable {
  error_code: string
  error_message: string
}

const REGISTERED: Record<SmppSettings['receipts'], number> = { none: 0x00, final: 0x01, all: 0x11 }

/** The submit_sm PDUs of a message, one for each part, in order. */
export function submissionOf(
  job: SendJob,
  settings: SmppSettings,
  reference: () => number,
): Buffer[] | Unsendable {
  const { text } = job.content as { text?: unknown }
  if (typeof text !== 'string' || text === '') return INVALID.content
  const source = sourceOf(job.sender, settings.addresses)
  if (!source) return INVALID.sender
  const destination = destinationOf(job.recipient, settings.addresses)
  if (!destination) return INVALID.recipient
  const parts = partsOf(text, { ...settings, reference })
  if (typeof parts === 'string') return INVALID[parts]
  const { service_type, receipts, validity_hours } = settings
  const registered_delivery = REGISTERED[receipts]
  const validity_period = validity_hours === undefined ? '' : validityOf(validity_hours)
  const common = { service_type, source, destination, validity_period, registered_delivery }
  return parts.map((part) => submitSm({ ...common, ...part }))
}

/** Encodes a relative validity period in whole hours: SMPP 3.4 section 7.1.1. */
function validityOf(hours: number): string {
  const two = (count: number) => String(count).padStart(2, '0')
  return `0000${two(Math.floor(hours / 24))}${two(hours % 24)}0000000R`
}

const INVALID = {
  content: { error_code: 'invalid_content', error_message: 'smpp: The message has no text' },
  sender: {
    error_code: 'sender_invalid',
    error_message: 'smpp: The sender is neither a number nor 1 to 11 characters of GSM-7',
  },
  recipient: {
    error_code: 'invalid_recipient',
    error_message: 'smpp: The recipient is not a phone number',
  },
  too_many_parts: {
    error_code: 'too_many_parts',
    error_message: 'smpp: The text has more parts than are allowed',
  },
  alphabet: {
    error_code: 'invalid_content',
    error_message: "smpp: The SMSC's alphabet lacks a character of the text",
  },
} satisfies Record<string, Unsendable>
