import type { ReceivedMessageRow, SuppressionRow } from '../rows/rows.ts'
import { suppressedAddress } from '../rules/suppression.ts'
import type { Writes } from '../storage/ports/storage.ts'
import {
  type Arrival,
  type Parties,
  partiesOf,
  planReceived,
  type ReceivedContext,
  type ReceivedPlan,
  type ReceivedState,
  wishOf,
} from './plan.ts'

/** So long after somebody asked for help another such question is not answered: two machines would never end. */
const HELP_QUIET_MS = 10 * 60_000

/** Whether a number is one of those that this service sends from. */
export type IsOurs = (sender: Pick<ReceivedMessageRow, 'channel' | 'sender'>) => boolean

/**
 * Takes one arrival in, in a transaction that is open: all that follows from it, the replies excepted, which are written
 * last. Null where it was taken before; nothing is changed then.
 */
export async function takeIn(
  stores: Writes,
  arrival: Arrival,
  { isOurs, ...context }: ReceivedContext & { isOurs: IsOurs },
): Promise<ReceivedPlan | null> {
  const { channel, sender, recipient, provider, provider_message_id } = arrival
  const { conversations, receivedMessages, suppressions, webhooks } = stores
  const address = suppressedAddress({ channel, recipient: sender })
  const known = await conversations.with({ channel, address, sender: recipient })
  const parties = partiesOf(arrival, known)
  if (provider_message_id !== null) {
    // Whose it was may have changed since.
    const owners = [...known.map((one) => one.workspace_id), parties.owner ?? '', '']
    const by = { provider, provider_message_id }
    if (await receivedMessages.isKnown(owners, by)) return null
  }
  const state = await lookUp(stores, arrival, parties, isOurs)
  const plan = planReceived(arrival, parties, state, context)
  // Whoever takes the same in at the same time waits here, and finds it.
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
  { owner, workspace_ids }: Parties,
  isOurs: IsOurs,
): Promise<ReceivedState> {
  const { about, channel, sender, recipient, at } = arrival
  const { contacts, conversations, receivedMessages, webhooks, workspaces } = stores
  const suppressed: [string, SuppressionRow['reason']][] = []
  const state = {
    suppressed: new Map(suppressed),
    subscribers: [],
    workspace_name: '',
    was_asked: false,
    can_answer_from: false,
    is_ours: false,
  }
  if (owner === null) return state
  if (wishOf(arrival) === null) {
    return { ...state, subscribers: await webhooks.subscribers(owner) }
  }
  // One keyword after the other: of two that say the same, one is answered.
  for (const workspaceId of workspace_ids) await contacts.lock(workspaceId)
  for (const workspaceId of workspace_ids) {
    const standing = await stores.suppressions.of(workspaceId, [sender])
    const found = standing.find((one) => one.channel === channel)
    if (found) suppressed.push([workspaceId, found.reason])
  }
  const since = new Date(at.getTime() - HELP_QUIET_MS)
  const livemode = about?.livemode ?? true
  const between = { workspace_id: owner, channel, sender, recipient, livemode }
  const self = { workspace_id: owner, channel, sender }
  return {
    suppressed: new Map(suppressed),
    workspace_name: (await workspaces.byId(owner))?.name ?? '',
    was_asked: await receivedMessages.askedForHelp(between, since),
    can_answer_from: isOurs({ channel, sender: recipient }),
    is_ours: isOurs(self) || (await conversations.hasSender(self)),
    subscribers: await webhooks.subscribers(owner),
  }
}
