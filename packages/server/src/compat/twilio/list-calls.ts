import type { Viewer } from '@svc/core'
import { type MessageStatus, twilioCallStatusOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import { callRecord } from './calls.ts'
import { TwilioError } from './errors.ts'
import { addressOf, PAGE_NAMES, pageOf, pageRecord, timesOf } from './pages.ts'
import { Given, type Parameters } from './parameters.ts'

const LISTING = {
  name: 'calls',
  place: '/Calls',
  kind: 'call',
  filters: [
    'To',
    'From',
    'Status',
    'ParentCallSid',
    'StartTime',
    'StartTime<',
    'StartTime>',
    'EndTime',
    'EndTime<',
    'EndTime>',
  ],
} as const

const NAMES = new Set([...LISTING.filters, ...PAGE_NAMES])

/** The statuses of Twilio, with the status of the messages among which such calls are; null: no call here has it. */
const STATUSES: Readonly<Record<string, Exclude<MessageStatus, 'read'> | null>> = {
  queued: 'queued',
  initiated: null,
  ringing: null,
  'in-progress': 'sent',
  completed: 'delivered',
  busy: 'failed',
  'no-answer': 'failed',
  failed: 'failed',
  canceled: 'failed',
}

/**
 * A page of calls, newest first, in Twilio's form. A page may have fewer calls than its size although another follows: the
 * end of a call and the kind of its failure are compared after the look-up.
 */
export async function listCalls(
  { messages }: Pick<DecodedCore, 'messages'>,
  { viewer, workspace_id }: { viewer: Viewer; workspace_id: string },
  parameters: Parameters,
): Promise<object> {
  const given = new Given<(typeof LISTING.filters)[number] | (typeof PAGE_NAMES)[number]>(
    parameters,
    NAMES,
  )
  const page = pageOf(given, LISTING.kind)
  const status = statusOf(given.filled('Status'))
  const ended = timesOf(given, 'EndTime')
  const query = {
    channel: 'voice',
    recipient: addressOf(given, 'To')?.address,
    sender: addressOf(given, 'From')?.address,
    ...timesOf(given, 'StartTime'),
    status: status?.message ?? undefined,
    limit: page.size,
    after: page.after,
  } as const
  // Calls of the service have no parent, and no call has a status that is not reported.
  const isEmpty = given.filled('ParentCallSid') !== undefined || status?.message === null
  const found = isEmpty
    ? { messages: [], next_after: null }
    : await messages.listShort(viewer, query)
  const records = found.messages.flatMap((call) => {
    if (call.erased_at !== null) return []
    const end = call.delivered_at ?? call.failed_at
    const isShown =
      (!status || twilioCallStatusOf(call.status, call.error_code) === status.call) &&
      (!ended.startDate || (end !== null && end >= ended.startDate)) &&
      (!ended.endDate || (end !== null && end <= ended.endDate))
    return isShown ? [callRecord(call)] : []
  })
  const next = found.next_after
  const { length } = found.messages
  return pageRecord(LISTING, given, { workspace_id, page, records, length, next })
}

function statusOf(name: string | undefined) {
  if (name === undefined) return undefined
  const message = Object.hasOwn(STATUSES, name) ? STATUSES[name] : undefined
  if (message !== undefined) return { call: name, message }
  const known = Object.keys(STATUSES).join(', ')
  throw new TwilioError('invalid_parameter', `'Status' must be one of: ${known}`)
}
