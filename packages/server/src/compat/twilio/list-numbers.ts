import { createHash } from 'node:crypto'
import { sidOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import { TwilioError } from './errors.ts'
import { API_VERSION, pathOf } from './message-record.ts'
import { PAGE_NAMES, pageOf, pageRecord } from './pages.ts'
import { Given, type Parameters } from './parameters.ts'

const LISTING = {
  name: 'incoming_phone_numbers',
  place: '/IncomingPhoneNumbers',
  kind: 'phone_number',
  filters: ['PhoneNumber', 'FriendlyName'],
} as const

const NAMES = new Set([...LISTING.filters, ...PAGE_NAMES])

/** Filters of Twilio for which every number here has one value. */
const NEUTRAL = { Beta: 'false', Origin: 'twilio' }

const NUMBER = /^\+[1-9]\d{1,14}$/
const PATTERN = /^\+?[\d*]{1,20}$/

/**
 * A page of the numbers that the settings of the providers list as senders of SMS and calls, in Twilio's form. Names and
 * short codes are no phone numbers.
 */
export function listNumbers(
  { listedSenders }: Pick<DecodedCore, 'listedSenders'>,
  workspace_id: string,
  parameters: Parameters,
): object {
  const given = new Given<(typeof LISTING.filters)[number] | (typeof PAGE_NAMES)[number]>(
    parameters,
    NAMES,
    NEUTRAL,
  )
  const page = pageOf(given, LISTING.kind)
  const [sms, voice] = (['sms', 'voice'] as const).map((channel) =>
    listedSenders.flatMap((one) => (one.channel === channel ? [one.sender] : [])),
  ) as [string[], string[]]
  const isWanted = filterOf(given.filled('PhoneNumber'))
  const name = given.filled('FriendlyName')
  const all = [...new Set([...sms, ...voice])]
    .filter((number) => NUMBER.test(number) && isWanted(number))
    .filter((number) => name === undefined || name === number)
    .map((number) => ({ number, id: idOf(workspace_id, number) }))
  const from = page.after === undefined ? 0 : all.findIndex(({ id }) => id === page.after) + 1
  // A position whose number is not configured any more has no next page.
  const rest = page.after !== undefined && from === 0 ? [] : all.slice(from)
  const rows = rest.slice(0, page.size)
  const records = rows.map(({ number, id }) =>
    numberRecord(workspace_id, {
      number,
      id,
      can: { voice: voice.includes(number), sms: sms.includes(number), mms: false, fax: false },
    }),
  )
  const next = rest.length > rows.length ? (rows.at(-1)?.id ?? null) : null
  return pageRecord(LISTING, given, { workspace_id, page, records, length: rows.length, next })
}

/** As at Twilio: a part of the number, with `*` for any digit. */
function filterOf(text: string | undefined): (number: string) => boolean {
  if (text === undefined) return () => true
  const pattern = text.trim()
  if (!PATTERN.test(pattern)) {
    throw new TwilioError('invalid_parameter', "'PhoneNumber' must be digits, and * for any digit")
  }
  const wanted = new RegExp(pattern.replace('+', '\\+').replaceAll('*', '\\d'))
  return (number) => wanted.test(number)
}

/** The id of a sender, which has none in the settings: the same for a number as long as it is configured. */
function idOf(workspace_id: string, number: string): string {
  const hex = createHash('sha256').update(`${workspace_id} ${number}`).digest('hex')
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function numberRecord(
  workspace_id: string,
  { number, id, can }: { number: string; id: string; can: Record<string, boolean> },
): object {
  const sid = sidOf('phone_number', id)
  return {
    sid,
    account_sid: sidOf('account', workspace_id),
    friendly_name: number,
    phone_number: number,
    api_version: API_VERSION,
    capabilities: can,
    origin: 'twilio',
    beta: false,
    status: 'in-use',
    address_requirements: 'none',
    sms_url: '',
    voice_url: '',
    date_created: null,
    date_updated: null,
    uri: pathOf(workspace_id, `/IncomingPhoneNumbers/${sid}`),
  }
}
