import { openSignedEndpoint, type SignedEndpoint } from '../stage/endpoint.ts'

/** One event, as its receiver got it. */
export interface ReceivedEvent {
  event: string
  /** The id of its message. */
  message_id: string
  path: string
  /** The body of the first delivery; every repetition has the same bytes. */
  body: string
  times: number
}

/** Receives the webhooks of all accounts, each on its own path, and refuses deliveries without a valid signature. */
export interface Receiver extends SignedEndpoint {
  /** By event id. */
  events: ReadonlyMap<string, ReceivedEvent>
  /** Wrong deliveries: a wrong signature, or a changed body. */
  faults: readonly string[]
  /** The number of signed deliveries. */
  deliveries(): number
  /** The number of messages whose final status was reported. */
  finished(): number
}

const FINAL = new Set(['message.delivered', 'message.failed'])

/**
 * @param flaky whether some first tries are answered with 500, so that kills can hit retries.
 * @param anytime whether the service's clock may differ from this one.
 */
export async function openReceiver({
  flaky,
  anytime = false,
}: {
  flaky: boolean
  anytime?: boolean
}): Promise<Receiver> {
  const events = new Map<string, ReceivedEvent>()
  const finished = new Set<string>()
  const refused = new Set<string>()
  const faults: string[] = []
  let deliveries = 0

  const endpoint = await openSignedEndpoint({
    anytime,
    onForged: (text) => faults.push(text),
    receive({ id, path, body }) {
      deliveries += 1
      if (flaky && id.endsWith('00') && !refused.has(id)) {
        refused.add(id)
        return 500
      }
      const known = events.get(id)
      if (known) {
        known.times += 1
        if (known.body !== body) faults.push(`event ${id} arrived with another body`)
        return 200
      }
      const { event, data } = JSON.parse(body) as { event: string; data: { message_id: string } }
      events.set(id, { event, message_id: data.message_id, path, body, times: 1 })
      if (FINAL.has(event)) finished.add(data.message_id)
      return 200
    },
  })
  return {
    ...endpoint,
    events,
    faults,
    deliveries: () => deliveries,
    finished: () => finished.size,
  }
}
