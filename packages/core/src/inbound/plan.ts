import { E164 } from '../contract/fields/e164.ts'
import type { Received } from '../contract/outside/provider.ts'
import type {
  ConversationRow,
  MessageRow,
  ReceivedMessageRow,
  SuppressionRow,
} from '../rows/rows.ts'
import { type FanOut, fanOut, type Subscriber } from '../rules/deliveries.ts'
import { suppressedAddress, suppressionKey, whatsappForms } from '../rules/recipients.ts'

import { type Keyword, keywordOf, type ReplyTexts, replyText, replyTo } from './reply.ts'

/** A whole message from a recipient, before it is stored. */
export interface Arrival extends Omit<Received, 'type' | 'part'> {
  provider: string
  /** Whether the provider replies to keywords itself. */
  handles_stop: boolean
  /** The message that the arrival answers, if known. */
  about?: { workspace_id: string; livemode: boolean } | undefined
  /** The message that the author quoted. It decides if no conversation with the author is known. */
  quoted?: { workspace_id: string; livemode: boolean; recipient: string } | undefined
  at: Date
}

/** The workspaces that an arrival concerns. */
export interface Parties {
  /** The workspace that receives the message; null when the message belongs to no workspace. */
  owner: string | null
  /** The sender that these workspaces used: the number that received the message, or the last sender that wrote to the author. */
  wrote_from: string
  /** The workspaces that a keyword applies to, sorted. Empty for an answer to a test message: its keywords change nothing. */
  workspace_ids: string[]
  /** The address to which the owner wrote, which may differ from the author's name at the provider. */
  address: string
  /** The addresses under which a keyword holds: those to which the workspaces wrote, and the author's numbers. */
  addresses: string[]
}

/** The state that was looked up. All fields except `subscribers` matter only when the text may be a keyword. */
export interface ReceivedState {
  /** The reason of each suppression of the writer on the channel, indexed by `suppressionKey`. */
  suppressed: ReadonlyMap<string, SuppressionRow['reason']>
  /** The owner's active webhooks. */
  subscribers: readonly Subscriber[]
  /** Whether the event is stored even without a subscriber. Default: false. */
  keeps_events?: boolean
  /** The owner's name. */
  workspace_name: string
  /** Whether the writer requested help at the same number shortly before. */
  has_requested_help: boolean
  /** Whether the number that received the message is a sender of a configured provider. */
  can_answer_from: boolean
  /** Whether the writer is one of our senders; without this check, two services could answer each other without end. */
  is_ours: boolean
}

/** The rows of one arrival, written in the transaction that looked the state up. */
export interface ReceivedPlan extends FanOut {
  received: ReceivedMessageRow
  opt_outs: SuppressionRow[]
  /** Opt-outs to remove. */
  lifted: Pick<SuppressionRow, 'workspace_id' | 'channel' | 'address'>[]
  /** Replies, free of charge. */
  replies: MessageRow[]
}

export interface ReceivedContext {
  newId: () => string
  texts: ReplyTexts
}

/**
 * The owner is the workspace that last wrote to the writer from the number that received the message. If there is none, the
 * owner is the workspace that last wrote to the writer at all, because providers may choose a sender themselves. A keyword
 * applies to every workspace that used the sender, because the writer cannot distinguish workspaces that share a number.
 * @param conversations of the writer on the channel; within the receiving number and within the others, the newest is first
 */
export function partiesOf(
  arrival: Pick<Arrival, 'about' | 'quoted' | 'recipient' | 'channel' | 'sender' | 'identities'>,
  conversations: readonly Omit<ConversationRow, 'channel' | 'last_sent_at' | 'user_id'>[],
): Parties {
  const { quoted, recipient, channel, sender } = arrival
  const about = arrival.about ?? (conversations.length === 0 ? quoted : undefined)
  const numbers = namesOf(arrival).filter((name) => channel !== 'whatsapp' || E164.test(name))
  if (about) {
    const { workspace_id, livemode } = about
    const address = about === quoted ? quoted.recipient : sender
    return {
      owner: workspace_id,
      wrote_from: recipient,
      workspace_ids: livemode ? [workspace_id] : [],
      address,
      addresses:
        about === quoted
          ? formsOf(channel, [suppressedAddress({ channel, recipient: address }), ...numbers])
          : numbers,
    }
  }
  const last = conversations.find(({ sender }) => sender === recipient) ?? conversations[0]
  const wrote_from = last?.sender ?? recipient
  const same = conversations.filter(({ sender }) => sender === wrote_from)
  const workspace_ids = [...new Set(same.map(({ workspace_id }) => workspace_id))].sort()
  const known = same.flatMap(({ address, other_number }) => [address, other_number ?? address])
  const addresses = formsOf(channel, [...known, ...numbers])
  // The sender of an e-mail keeps its spelling.
  const address = channel === 'email' ? sender : (last?.address ?? sender)
  return { owner: last?.workspace_id ?? null, wrote_from, workspace_ids, address, addresses }
}

/** The addresses, each once, and on WhatsApp the other forms of numbers. */
function formsOf(channel: Arrival['channel'], addresses: readonly string[]): string[] {
  return [...new Set(channel === 'whatsapp' ? addresses.flatMap(whatsappForms) : addresses)]
}

/** The names under which conversations with the author may be known. */
export function namesOf({
  channel,
  sender,
  identities = [],
}: Pick<Arrival, 'channel' | 'sender' | 'identities'>): string[] {
  if (channel !== 'whatsapp') return [suppressedAddress({ channel, recipient: sender })]
  return formsOf(channel, [sender, ...identities])
}

/** The keyword of an arrival; null on channels without keywords. `yes` counts only if the writer opted out. */
export function possibleKeyword({ channel, keyword, content }: Arrival): Keyword | 'yes' | null {
  if (channel !== 'sms' && channel !== 'whatsapp') return null
  return keyword ?? (content.text === null ? null : keywordOf(content.text))
}

/** Plans the rows of an arrival: the message, one event, and the effects of its keyword. */
export function planReceived(
  arrival: Arrival,
  { owner, wrote_from, workspace_ids, address: sender, addresses }: Parties,
  state: ReceivedState,
  context: ReceivedContext,
): ReceivedPlan {
  const { channel, provider, provider_message_id, recipient, content, at } = arrival
  const possibleOptOuts = workspace_ids.flatMap((workspace_id) =>
    addresses.map((address) => ({ workspace_id, channel, address })),
  )
  const reasonOf = (one: (typeof possibleOptOuts)[number]) =>
    state.suppressed.get(suppressionKey(one))
  const optedOut = possibleOptOuts.filter((one) => reasonOf(one) === 'opt_out')
  const possible = possibleKeyword(arrival)
  const keyword = possible === 'yes' ? (optedOut.length > 0 ? 'start' : null) : possible
  const plan: ReceivedPlan = {
    received: {
      id: context.newId(),
      workspace_id: owner ?? '',
      channel,
      provider,
      provider_message_id,
      sender,
      recipient,
      content,
      keyword,
      livemode: (arrival.about ?? arrival.quoted)?.livemode ?? true,
      created_at: at,
    },
    opt_outs: [],
    lifted: [],
    replies: [],
    events: [],
    deliveries: [],
    delivery_queue: [],
  }
  if (owner === null) return plan
  announce(plan, state, context)
  if (keyword === 'stop') {
    const open = possibleOptOuts.filter((one) => reasonOf(one) === undefined)
    plan.opt_outs = open.map((one) => ({ ...one, reason: 'opt_out', created_at: at }))
  }
  if (keyword === 'start') plan.lifted = optedOut
  if (keyword !== null && mayAnswer(keyword, arrival, plan, state)) {
    const from = state.can_answer_from ? recipient : wrote_from
    answer(plan, keyword, { ...arrival, from }, state, context)
  }
  return plan
}

function announce(
  plan: ReceivedPlan,
  { subscribers, keeps_events: keeps }: Pick<ReceivedState, 'subscribers' | 'keeps_events'>,
  { newId }: ReceivedContext,
): void {
  const { id, workspace_id, channel, sender, recipient, content, created_at } = plan.received
  const { provider_message_id, livemode } = plan.received
  const data = {
    message_id: id,
    channel,
    sender,
    recipient,
    content: { ...content },
    provider_message_id,
    livemode,
    occurred_at: created_at,
  }
  const happening = { event: 'message.received', data, workspace_id, message_id: id } as const
  fanOut(plan, happening, subscribers, { at: created_at, newId, keeps })
}

/** STOP and START get a reply if they changed something. HELP gets a reply if no HELP came shortly before. */
function mayAnswer(
  keyword: Keyword,
  { handles_stop }: Arrival,
  { opt_outs, lifted }: ReceivedPlan,
  { has_requested_help, is_ours }: ReceivedState,
): boolean {
  if (handles_stop || is_ours) return false
  switch (keyword) {
    case 'stop':
      return opt_outs.length > 0
    case 'start':
      return lifted.length > 0
    case 'help':
      return !has_requested_help
  }
}

function answer(
  { received, replies }: ReceivedPlan,
  keyword: Keyword,
  { at, from }: Arrival & { from: string },
  { workspace_name }: ReceivedState,
  { newId, texts }: ReceivedContext,
): void {
  const text = texts[keyword]
  if (text === null) return
  const reply = { id: newId(), at, livemode: received.livemode, sender: from }
  replies.push(replyTo(received, replyText(text, workspace_name), reply))
}
