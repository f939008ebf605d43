import type { ReceivedMessageRow, SuppressionRow } from '../rows/rows.ts'
import { suppressionKey } from '../rules/suppression.ts'
import type { Writes } from '../storage/ports/storage.ts'
import {
  type Arrival,
  namesOf,
  type Parties,
  partiesOf,
  planReceived,
  possibleKeyword,
  type ReceivedContext,
  type ReceivedPlan,
  type ReceivedState,
} from './plan.ts'

/** HELP gets no second reply within this time, because two machines would answer each other without end. */
const HELP_QUIET_MS = 10 * 60_000

/** Whether a number is a sender of this service. */
export type IsOurs = (sender: Pick<ReceivedMessageRow, 'channel' | 'sender'>) => boolean

/**
 * Stores one arrival and its effects in an open transaction, except the replies, which the caller writes last. Returns null
 * and changes nothing if the arrival is already stored.
 */
export async function takeIn(
  stores: Writes,
  arrival: Arrival,
  { isOurs, ...context }: ReceivedContext & { isOurs: IsOurs },
): Promise<ReceivedPlan | null> {
  const { channel, recipient, provider, provider_message_id } = arrival
  const { conversations, receivedMessages, suppressions, webhooks } = stores
  const names = namesOf(arrival)
  const known = await conversations.with({ channel, names, sender: recipient })
  const parties = partiesOf(arrival, known)
  if (provider_message_id !== null) {
    // The owner may have changed since the first arrival.
    const owners = [...known.map((one) => one.workspace_id), parties.owner ?? '', '']
    const by = { provider, provider_message_id }
    if (await receivedMessages.isKnown(owners, by)) return null
  }
  const state = await lookUp(stores, arrival, parties, isOurs)
  const plan = planReceived(arrival, parties, state, context)
  // A concurrent transaction with the same arrival waits here, and then finds it.
  if (!(await receivedMessages.insert(plan.received))) return null
  await suppressions.add(plan.opt_outs)
  for (const { workspace_id, ...opted } of plan.lifted) {
    await suppressions.remove(workspace_id, { ...opted, reason: 'opt_out' })
  }
  await webhooks.queue(plan)
  return plan
}

async function lookUp(
  stores: Writes,
  arrival: Arrival,
  { owner, workspace_ids, address: sender, addresses }: Parties,
  isOurs: IsOurs,
): Promise<ReceivedState> {
  const { channel, recipient, at } = arrival
  const { contacts, conversations, receivedMessages, workspaces } = stores
  const suppressed: [string, SuppressionRow['reason']][] = []
  const state = {
    suppressed: new Map(suppressed),
    subscribers: [],
    workspace_name: '',
    has_requested_help: false,
    can_answer_from: false,
    is_ours: false,
  }
  if (owner === null) return state
  if (possibleKeyword(arrival) === null) {
    return { ...state, ...(await announcing(stores, owner)) }
  }
  // The locks ensure that only one of two simultaneous equal keywords gets a reply.
  for (const workspaceId of workspace_ids) await contacts.lock(workspaceId)
  for (const workspaceId of workspace_ids) {
    for (const one of await stores.suppressions.of(workspaceId, addresses)) {
      if (one.channel === channel) suppressed.push([suppressionKey(one), one.reason])
    }
  }
  const since = new Date(at.getTime() - HELP_QUIET_MS)
  const livemode = (arrival.about ?? arrival.quoted)?.livemode ?? true
  const between = { workspace_id: owner, channel, sender, recipient, livemode }
  const self = { workspace_id: owner, channel, sender }
  return {
    suppressed: new Map(suppressed),
    workspace_name: (await workspaces.byId(owner))?.name ?? '',
    has_requested_help: await receivedMessages.hasRequestedHelp(between, since),
    can_answer_from: isOurs({ channel, sender: recipient }),
    is_ours: isOurs(self) || (await conversations.hasSender(self)),
    ...(await announcing(stores, owner)),
  }
}

/** Who gets the event of a received message. */
async function announcing({ webhooks, eventLog }: Writes, workspaceId: string) {
  return {
    subscribers: await webhooks.subscribers(workspaceId),
    keeps_events: await eventLog.isKept(),
  }
}
