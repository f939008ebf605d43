import type { Received } from '../contract/outside/provider.ts'
import type { ReceivedPartRow } from '../rows/rows.ts'
import { countNew } from '../rules/count-changes.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { idsFor } from './arrival-ids.ts'
import { assemble, keepPart } from './assemble.ts'
import { isValidPart } from './parts.ts'
import type { Arrival, ReceivedPlan } from './plan.ts'
import { REPLY_TEXTS, type ReplyTexts } from './reply.ts'
import { type IsOurs, takeIn } from './take-in.ts'
import { withdraw } from './withdraw.ts'

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
