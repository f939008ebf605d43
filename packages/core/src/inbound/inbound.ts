import type { Received } from '../contract/outside/provider.ts'
import type { MessageRow, ReceivedPartRow } from '../rows/rows.ts'
import { countChanges, type StatusChange } from '../rules/count-changes.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { idsFor } from './arrival-ids.ts'
import { assemble, keepPart } from './assemble.ts'
import { isSound } from './parts.ts'
import type { Arrival, ReceivedPlan } from './plan.ts'
import { REPLY_TEXTS, type ReplyTexts } from './reply.ts'
import { type IsOurs, takeIn } from './take-in.ts'
import { withdraw } from './withdraw.ts'

/** Something a recipient wrote; with the message that it answers, where that is known. */
export interface Incoming extends Received {
  about?: Arrival['about']
}

export interface Inbound {
  /**
   * Takes in what recipients wrote. Resolves when all of it is stored: only then may the provider be told so. What came
   * before changes nothing. A long text is taken in with the last of its parts.
   */
  receive(
    provider: { name: string; handles_stop: boolean },
    incoming: readonly Incoming[],
  ): Promise<void>
}

/** One transaction takes in so many: sends wait while it runs. */
const STEP_MAX = 100

const ADDRESS_MAX = 255
const CONTROLS = /\p{Cc}/gu

/** What recipients write: whose it is, the event, and what STOP, START and HELP ask for. */
export function createInbound({
  storage,
  runtime,
  texts,
  isOurs = () => false,
  onQueued = () => {},
}: {
  storage: Storage
  runtime: Runtime
  /** What is answered to keywords; those left out are answered in English. */
  texts?: Partial<ReplyTexts> | undefined
  /** Whether a number is one that providers here send from. */
  isOurs?: IsOurs
  /** Told when messages or deliveries were queued. */
  onQueued?: () => void
}): Inbound {
  const replyTexts = { ...REPLY_TEXTS, ...texts }

  /** In two transactions, so that of two parts that come at the same time the later commit sees both. */
  async function keep(provider: string, incoming: readonly Incoming[]): Promise<Arriving[]> {
    const at = runtime.now()
    const arriving = incoming.flatMap(({ part, ...one }): Arriving[] => {
      if (!part) return [{ ...one, part: null }]
      if (isSound(part)) {
        const { sender, recipient } = one
        return [{ ...one, part: { provider, sender, recipient, ...part, created_at: at } }]
      }
      const { total, number } = part
      runtime.log.warn({ provider, total, number }, 'a part of a text is none')
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

  function takeAll(
    { name, handles_stop }: { name: string; handles_stop: boolean },
    arriving: readonly Arriving[],
  ): Promise<ReceivedPlan[]> {
    return storage.write(async (stores) => {
      const plans: ReceivedPlan[] = []
      for (const { part, type: _, ...one } of arriving) {
        const text = part ? await assemble(stores, part) : one.content.text
        if (part && text === null) continue
        const content = { ...one.content, text }
        const arrival = { ...one, content, provider: name, handles_stop, at: runtime.now() }
        const newId = idsFor(arrival, runtime.id)
        const plan = await takeIn(stores, arrival, { newId, texts: replyTexts, isOurs })
        if (plan) plans.push(plan)
      }
      const replies = plans.flatMap((plan) => plan.replies)
      await stores.receivedMessages.reply(replies, countChanges(replies.map(created)))
      return plans
    })
  }

  async function follow(plans: readonly ReceivedPlan[]): Promise<void> {
    for (const { received, replies } of plans) {
      const { id, channel, provider, keyword } = received
      runtime.telemetry?.received(channel, provider)
      for (const reply of replies) runtime.telemetry?.reached(reply.channel, 'queued', 1)
      if (received.workspace_id === '') {
        runtime.log.warn({ id, channel, provider }, 'what was received is nobody’s')
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
        const plans = await takeAll(provider, await keep(provider.name, step))
        await follow(plans)
      }
    },
  }
}

/** What is taken in: whole, or one part of it. */
interface Arriving extends Omit<Incoming, 'part'> {
  part: ReceivedPartRow | null
}

function created({ workspace_id, channel, livemode, status }: MessageRow): StatusChange {
  return { workspace_id, channel, livemode, from: null, to: status }
}

/** As databases take it: a provider that is refused what it brings would bring it again for ever. */
function tidy(incoming: Incoming): Incoming {
  const { provider_message_id, sender, recipient, content } = incoming
  return {
    ...incoming,
    provider_message_id: provider_message_id === null ? null : plain(provider_message_id),
    sender: plain(sender),
    recipient: plain(recipient),
    content: { ...content, text: content.text?.toWellFormed() ?? null },
  }
}

function plain(text: string): string {
  return text.replace(CONTROLS, '').slice(0, ADDRESS_MAX).toWellFormed()
}
