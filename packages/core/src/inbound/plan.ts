import type { Received } from '../contract/outside/provider.ts'
import type {
  ConversationRow,
  MessageRow,
  ReceivedMessageRow,
  SuppressionRow,
} from '../rows/rows.ts'
import { type FanOut, fanOut, type Subscriber } from '../rules/fan-out.ts'
import { type Keyword, keywordOf } from './keywords.ts'
import { type ReplyTexts, replyText, replyTo } from './reply.ts'

/** What a recipient wrote, whole, on its way in. */
export interface Arrival extends Omit<Received, 'type' | 'part'> {
  provider: string
  /** Whether the provider answers keywords by itself. */
  handles_stop: boolean
  /** The message that it answers, where that is known. */
  about?: { workspace_id: string; livemode: boolean } | undefined
  at: Date
}

/** Whose something is: the workspace, null for nobody's; and all that its keyword counts for. */
export interface Parties {
  owner: string | null
  /** From where those wrote that it counts for: the number that it came to, or what stands for it. */
  wrote_from: string
  /** In their order, each once; none where it answers a test message, whose keywords change nothing. */
  workspace_ids: string[]
}

/** What the storage looked up. All but `subscribers` matters only where the text may be a keyword. */
export interface ReceivedState {
  /** How who wrote is suppressed on the channel, by workspace. */
  suppressed: ReadonlyMap<string, SuppressionRow['reason']>
  /** The owner's active webhooks. */
  subscribers: readonly Subscriber[]
  /** The owner's. */
  workspace_name: string
  /** Whether they asked the owner for help shortly before, from the same number to the same. */
  was_asked: boolean
  /** Whether the number that it came to is one that providers here send from. */
  can_answer_from: boolean
  /** Whether who wrote is a sender of ours: two services that answer each other would never end. */
  is_ours: boolean
}

/** What follows from one arrival, written in the transaction that looked the state up. */
export interface ReceivedPlan extends FanOut {
  received: ReceivedMessageRow
  opt_outs: SuppressionRow[]
  /** Opt-outs that end. */
  lifted: Pick<SuppressionRow, 'workspace_id' | 'channel' | 'address'>[]
  /** Messages that answer; free of charge. */
  replies: MessageRow[]
}

export interface ReceivedContext {
  newId: () => string
  texts: ReplyTexts
}

/**
 * Whose it is: whoever last wrote to that number from the one that it came to, else whoever last wrote to it at all:
 * providers may choose a number by themselves. A keyword counts for everybody who wrote from there: the person cannot
 * tell apart who shares a number.
 *
 * @param conversations who wrote to that number on the channel: of those from one sender, and of those from others, last first
 */
export function partiesOf(
  { about, recipient }: Pick<Arrival, 'about' | 'recipient'>,
  conversations: readonly Pick<ConversationRow, 'workspace_id' | 'sender'>[],
): Parties {
  if (about) {
    const { workspace_id, livemode } = about
    return {
      owner: workspace_id,
      wrote_from: recipient,
      workspace_ids: livemode ? [workspace_id] : [],
    }
  }
  const last = conversations.find(({ sender }) => sender === recipient) ?? conversations[0]
  const wrote_from = last?.sender ?? recipient
  const same = conversations.filter(({ sender }) => sender === wrote_from)
  const workspace_ids = [...new Set(same.map(({ workspace_id }) => workspace_id))].sort()
  return { owner: last?.workspace_id ?? null, wrote_from, workspace_ids }
}

/** What an arrival may ask for; `yes` depends on whether who wrote is stopped. Null on channels that know no keywords. */
export function wishOf({ channel, keyword, content }: Arrival): Keyword | 'yes' | null {
  if (channel !== 'sms' && channel !== 'whatsapp') return null
  return keyword ?? (content.text === null ? null : keywordOf(content.text))
}

/** Turns an arrival into what is written: its row, one event, and what its keyword asks for. */
export function planReceived(
  arrival: Arrival,
  { owner, wrote_from, workspace_ids }: Parties,
  state: ReceivedState,
  context: ReceivedContext,
): ReceivedPlan {
  const { channel, provider, provider_message_id, sender, recipient, content, at } = arrival
  const optedOut = workspace_ids.filter((id) => state.suppressed.get(id) === 'opt_out')
  const wish = wishOf(arrival)
  const keyword = wish === 'yes' ? (optedOut.length > 0 ? 'start' : null) : wish
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
      livemode: arrival.about?.livemode ?? true,
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
  announce(plan, state.subscribers, context)
  const about = { channel, address: sender }
  if (keyword === 'stop') {
    const open = workspace_ids.filter((id) => !state.suppressed.has(id))
    plan.opt_outs = open.map((workspace_id) => {
      return { workspace_id, ...about, reason: 'opt_out', created_at: at }
    })
  }
  if (keyword === 'start') {
    plan.lifted = optedOut.map((workspace_id) => ({ workspace_id, ...about }))
  }
  if (keyword !== null && mayAnswer(keyword, arrival, plan, state)) {
    const from = state.can_answer_from ? recipient : wrote_from
    answer(plan, keyword, { ...arrival, from }, state, context)
  }
  return plan
}

function announce(
  plan: ReceivedPlan,
  subscribers: readonly Subscriber[],
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
  fanOut(plan, happening, subscribers, { at: created_at, newId })
}

/** Each keyword is answered when it changed something, and help when nobody asked for it shortly before. */
function mayAnswer(
  keyword: Keyword,
  { handles_stop }: Arrival,
  { opt_outs, lifted }: ReceivedPlan,
  { was_asked, is_ours }: ReceivedState,
): boolean {
  if (handles_stop || is_ours) return false
  switch (keyword) {
    case 'stop':
      return opt_outs.length > 0
    case 'start':
      return lifted.length > 0
    case 'help':
      return !was_asked
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
  const given = { id: newId(), at, livemode: received.livemode, sender: from }
  replies.push(replyTo(received, replyText(text, workspace_name), given))
}
