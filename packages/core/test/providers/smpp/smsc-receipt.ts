import { MESSAGE_STATES } from './smsc-status.ts'
import type { Submission } from './smsc-submission.ts'

/** How an SMSC writes its ids. `padded`: ten decimal digits. */
export type IdForm = 'decimal' | 'hex' | 'upper_hex' | 'padded'

export interface ReceiptOptions {
  /** The place of the id and the state; default: `both`. */
  by?: 'tlv' | 'text' | 'both'
  /** How the id is written; default: as in the submit_sm_resp. */
  id_form?: IdForm
  /** The number of deliver_sm with this receipt. */
  times?: number
  /** The reason of the network, three characters; default: 000. */
  error?: string
  /** The receipt is not final. */
  intermediate?: boolean
  /** Replaces the usual text; `{id}` and `{state}` are filled in. */
  format?: string
}

/** The id of a message in a form. */
export function idOf(serial: number, form: IdForm): string {
  if (form === 'hex') return serial.toString(16)
  if (form === 'upper_hex') return serial.toString(16).toUpperCase()
  return form === 'padded' ? String(serial).padStart(10, '0') : String(serial)
}

/** The fields of a deliver_sm with a receipt: SMPP 3.4 sections 2.11, 4.6.1 and appendix B. */
export function receiptFields(
  message: Submission,
  id: string,
  state: string,
  options: ReceiptOptions,
): Record<string, unknown> {
  const { by = 'both', error = '000', intermediate = false } = options
  const number = MESSAGE_STATES[state]
  return {
    source_addr: message.dest,
    source_addr_ton: message.dest_ton,
    source_addr_npi: message.dest_npi,
    destination_addr: message.source,
    dest_addr_ton: message.source_ton,
    dest_addr_npi: message.source_npi,
    esm_class: intermediate ? 0x20 : 0x04,
    data_coding: 0,
    short_message: Buffer.from(by === 'tlv' ? '' : textFor(message, id, state, options), 'latin1'),
    ...(by !== 'text' && {
      receipted_message_id: id,
      ...(number !== undefined && { message_state: number }),
      ...(/^\d{1,3}$/.test(error) && { network_error_code: networkError(Number(error)) }),
    }),
  }
}

function textFor(
  message: Submission,
  id: string,
  state: string,
  { error = '000', format }: ReceiptOptions,
): string {
  if (format !== undefined) return format.replace('{id}', id).replace('{state}', state)
  const now = minute(new Date())
  const delivered = state === 'DELIVRD' ? '001' : '000'
  const begin = (message.text ?? '').slice(0, 20).replace(/[^\x20-\x7e]/g, '.')
  return `id:${id} sub:001 dlvrd:${delivered} submit date:${now} done date:${now} stat:${state} err:${error} text:${begin}`
}

/** SMPP 3.4 section 5.3.2.31: the kind of network (3: GSM) and its code. */
function networkError(code: number): Buffer {
  return Buffer.from([3, code >> 8, code & 0xff])
}

/** YYMMDDhhmm. */
function minute(at: Date): string {
  return at.toISOString().replace(/\D/g, '').slice(2, 12)
}
