import { createHash } from 'node:crypto'
import { E164 } from '../contract/fields/e164.ts'
import type { Received } from '../contract/outside/provider.ts'
import type {
  ConversationRow,
  ReceivedMessageRow,
  ReceivedPartRow,
  SuppressionRow,
} from '../rows/rows.ts'
import { countNew } from '../rules/count-changes.ts'
import { isReply, suppressionKey, whatsappForms } from '../rules/recipients.ts'
import type { Settlement } from '../rules/settlement.ts'

import { type Runtime, uuidAt } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { isRepeated, isValidPart, joined, PARTS_KEPT_MAX, PARTS_WAIT_MS } from './parts.ts'
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
import { REPLY_TEXTS, type ReplyTexts } from './reply.ts'

/** A message from a recipient and, if known, the message that it answers. */
export interface Incoming extends Received {
  about?: Arrival['about']
}

export interface Inbound {
  /**
   * Stores messages from recipients. Acknowledge them to the provider only after the promise resolves. A repeated message
   * changes nothing. A long text is stored as a message when the last of its parts arrives.
   */
  receive(
    provider: { name: string; handles_stop: boolean },
    incoming: readonly Incoming[],
  ): Promise<void>
}

/** The number of messages in one transaction; sends wait while it runs. */
const STEP_MAX = 100

const ADDRESS_MAX = 255
/** The maximum number of other names of an author. */
const IDENTITIES_MAX = 8
const CONTROLS = /\p{Cc}/gu

/** Messages from recipients: their workspace, their event, and the keywords STOP, START and HELP. */
export function createInbound({
  storage,
  runtime,
  texts,
  isOurs = () => false,
  onQueued = () => {},
}: {
  storage: Storage
  runtime: Runtime
  /** Replies to keywords. Default for each: English. */
  texts?: Partial<ReplyTexts> | undefined
  /** Whether a number is a sender of a configured provider. */
  isOurs?: IsOurs
  /** Called when messages or deliveries were queued. */
  onQueued?: () => void
}): Inbound {
  const replyTexts = { ...REPLY_TEXTS, ...texts }

  /** Stores parts in a separate transaction, so that the later of two concurrent parts sees both parts. */
  async function keep(provider: string, incoming: readonly Incoming[]): Promise<Arriving[]> {
    const at = runtime.now()
    const arriving = incoming.flatMap(({ part, ...one }): Arriving[] => {
      if (!part) return [{ ...one, part: null }]
      if (isValidPart(part)) {
        const { sender, recipient } = one
        return [{ ...one, part: { provider, sender, recipient, ...part, created_at: at } }]
      }
      const { total, number } = part
      runtime.log.warn({ provider, total, number }, 'a part of a long text is invalid')
      return []
    })
    const parts = arriving.flatMap(({ part }) => part ?? [])
    if (parts.length > 0) {
      await storage.write(async (stores) => {
        for (const part of parts) await keepPart(stores, part)
      })
    }
    return arriving
  }

  /** The messages of ours that the arrivals quote, by their ids at the provider. */
  async function quotedBy(
    provider: string,
    incoming: readonly Incoming[],
  ): Promise<Map<string, NonNullable<Arrival['quoted']>>> {
    const quotes = new Map<string, NonNullable<Arrival['quoted']>>()
    const ids = [...new Set(incoming.flatMap(({ answers }) => answers ?? []))]
    if (ids.length === 0) return quotes
    for (const part of await storage.read.messageParts.byProvider(provider, ids)) {
      const { provider_message_id: id, workspace_id, message_id } = part
      if (quotes.has(id)) continue
      const message = await storage.read.messages.byId(workspace_id, message_id)
      if (!message || message.erased_at !== null) continue
      const { livemode, recipient } = message
      quotes.set(id, { workspace_id, livemode, recipient })
    }
    return quotes
  }

  function takeAll(
    { name, handles_stop }: { name: string; handles_stop: boolean },
    arriving: readonly Arriving[],
    quotes: ReadonlyMap<string, NonNullable<Arrival['quoted']>>,
  ): Promise<ReceivedPlan[]> {
    return storage.write(async (stores) => {
      const plans: ReceivedPlan[] = []
      for (const { part, type: _, ...one } of arriving) {
        const text = part ? await assemble(stores, part) : one.content.text
        if (part && text === null) continue
        const content = { ...one.content, text }
        const quoted = quotes.get(one.answers ?? '')
        const arrival = { ...one, content, quoted, provider: name, handles_stop, at: runtime.now() }
        const newId = idsFor(arrival, runtime.id)
        const plan = await takeIn(stores, arrival, { newId, texts: replyTexts, isOurs })
        if (plan) plans.push(plan)
      }
      const replies = plans.flatMap((plan) => plan.replies)
      await stores.receivedMessages.reply(replies, countNew(replies))
      return plans
    })
  }

  async function follow(plans: readonly ReceivedPlan[]): Promise<void> {
    for (const { received, replies } of plans) {
      const { id, channel, provider, keyword } = received
      runtime.telemetry?.received(channel, provider)
      for (const reply of replies) runtime.telemetry?.reached(reply.channel, 'queued', 1)
      if (received.workspace_id === '') {
        runtime.log.warn({ id, channel, provider }, 'a received message belongs to no workspace')
      } else runtime.log.debug({ id, channel, provider, keyword }, 'message.received')
    }
    if (plans.some((plan) => plan.replies.length + plan.delivery_queue.length > 0)) onQueued()
    const optOuts = plans.flatMap(({ opt_outs }) => opt_outs)
    if (optOuts.length > 0 && (await withdraw({ storage, runtime }, optOuts)) > 0) onQueued()
  }

  return {
    async receive(provider, incoming) {
      for (let from = 0; from < incoming.length; from += STEP_MAX) {
        const step = incoming.slice(from, from + STEP_MAX).map(tidy)
        const quotes = await quotedBy(provider.name, step)
        const plans = await takeAll(provider, await keep(provider.name, step), quotes)
        await follow(plans)
      }
    },
  }
}

/** A whole message, or one part of a long text. */
interface Arriving extends Omit<Incoming, 'part'> {
  part: ReceivedPartRow | null
}

/** Changes a message into a form that databases accept: after an error the provider would send it again without end. */
function tidy(incoming: Incoming): Incoming {
  const { provider_message_id, sender, recipient, content, identities } = incoming
  return {
    ...incoming,
    ...(identities && { identities: identities.slice(0, IDENTITIES_MAX).map(plain) }),
    provider_message_id: provider_message_id === null ? null : plain(provider_message_id),
    sender: plain(sender),
    recipient: plain(recipient),
    content: { ...content, text: content.text?.toWellFormed() ?? null },
  }
}

function plain(text: string): string {
  return text.replace(CONTROLS, '').slice(0, ADDRESS_MAX).toWellFormed()
}

/**
 * The ids of the rows of an arrival, in order. They are derived from the provider's id if there is one, so that a
 * repeated arrival gets the same ids.
 */
export function idsFor(
  { provider, provider_message_id, at }: Arrival,
  newId: () => string,
): () => string {
  if (provider_message_id === null) return newId
  let n = 0
  return () =>
    uuidAt(
      at,
      createHash('sha256')
        .update(JSON.stringify([provider, provider_message_id, n++]))
        .digest(),
    )
}

type Store = Pick<Writes['receivedMessages'], 'partsOf' | 'insertPart' | 'removeParts'>

/**
 * Stores a part of a long text. A repeated part changes nothing. A different part with the same number starts another text,
 * because phones reuse their references.
 */
async function keepPart({ receivedMessages }: Writes, part: ReceivedPartRow): Promise<void> {
  const known = await receivedMessages.partsOf(part, new Date(0))
  const same = known.find(({ number }) => number === part.number)
  if (same && isRepeated(same, part)) return
  if (same) await receivedMessages.removeParts(part)
  await receivedMessages.insertPart(part)
  await receivedMessages.forgetOldestParts(part, PARTS_KEPT_MAX)
}

/**
 * Returns the whole text once, to the first caller after all its parts are committed; otherwise null. The parts stay until
 * their waiting time ends, so that a repeated part is recognized.
 */
async function assemble(
  { receivedMessages }: { receivedMessages: Store },
  part: ReceivedPartRow,
): Promise<string | null> {
  const since = new Date(part.created_at.getTime() - PARTS_WAIT_MS)
  const text = joined(await receivedMessages.partsOf(part, since), part.total)
  if (text === null) return null
  const isFirst = await receivedMessages.insertPart({ ...part, number: 0, units: '' })
  return isFirst ? text : null
}

/** The maximum number of queued messages that are searched in each workspace. */
const SEARCHED_MAX = 500

/**
 * Fails queued messages to recipients who just opted out (`error_code` `suppressed`), with a refund; returns their number.
 * Only the newest 500 queued messages of each workspace are searched. The other messages, and after an error all messages,
 * are checked against the suppressions when they are claimed.
 */
async function withdraw(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now' | 'log'> },
  optOuts: readonly SuppressionRow[],
): Promise<number> {
  let withdrawn = 0
  for (const optOut of optOuts) {
    try {
      const settlements = await waitingFor({ storage, runtime }, optOut)
      if (settlements.length === 0) continue
      withdrawn += (await storage.hot.settle(settlements)).filter((isDone) => isDone).length
    } catch (error) {
      const { workspace_id } = optOut
      runtime.log.warn(
        { err: error, workspace_id },
        'queued messages to a suppressed recipient were not canceled',
      )
    }
  }
  return withdrawn
}

async function waitingFor(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now'> },
  { workspace_id, channel, address }: SuppressionRow,
): Promise<Settlement[]> {
  const page = { limit: SEARCHED_MAX, offset: 0, content_length: 0 }
  const waiting = await storage.read.messages.queuedOf(workspace_id, channel, page)
  const theirs = waiting.filter(
    // Of several recipients, the claim leaves out those who opted out.
    (message) =>
      message.recipient === address &&
      message.recipients === null &&
      message.livemode &&
      !isReply(message),
  )
  return theirs.map(({ id }) => ({
    workspace_id,
    message_id: id,
    token: null,
    provider: '',
    abilities: { idempotent: false, lookup: false },
    result: { task: 'suppressed' },
    at: runtime.now(),
  }))
}

/** HELP gets no second reply within this time, because two machines would answer each other without end. */
const HELP_QUIET_MS = 10 * 60_000

/** Whether a number is a sender of this service. */
type IsOurs = (sender: Pick<ReceivedMessageRow, 'channel' | 'sender'>) => boolean

/**
 * Stores one arrival and its effects in an open transaction, except the replies, which the caller writes last. Returns null
 * and changes nothing if the arrival is already stored.
 */
async function takeIn(
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
  await conversations.note(renamed(arrival, await theirsOf(stores, arrival, known)))
  await suppressions.add(plan.opt_outs)
  for (const { workspace_id, ...opted } of plan.lifted) {
    await suppressions.remove(workspace_id, { ...opted, reason: 'opt_out' })
  }
  await webhooks.queue(plan)
  return plan
}

/** The known conversations with the author; without any, those with the recipient of the message that the author quoted. */
async function theirsOf(
  { conversations }: Writes,
  { channel, recipient, quoted }: Arrival,
  known: readonly ConversationRow[],
): Promise<readonly ConversationRow[]> {
  if (channel !== 'whatsapp' || known.length > 0 || !quoted) return known
  const names = namesOf({ channel, sender: quoted.recipient })
  const found = await conversations.with({ channel, names, sender: recipient })
  return found.filter(({ workspace_id }) => workspace_id === quoted.workspace_id)
}

/**
 * The conversations to which the arrival adds a name of the author. The next message may have this name alone: people hide
 * their number, and answer without a quote.
 */
function renamed(
  { channel, sender, identities = [] }: Arrival,
  conversations: readonly ConversationRow[],
): ConversationRow[] {
  if (channel !== 'whatsapp') return []
  const names = [sender, ...identities]
  const user = names.find((name) => !E164.test(name))
  return conversations.flatMap((one) => {
    const known = whatsappForms(one.address)
    const number = names.find((name) => E164.test(name) && !known.includes(name))
    const user_id = user ?? one.user_id
    const other_number = one.other_number ?? number ?? null
    const isSame = user_id === one.user_id && other_number === one.other_number
    return isSame ? [] : [{ ...one, user_id, other_number }]
  })
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
