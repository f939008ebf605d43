import type { Notification } from '../../src/billing/payment.ts'
import type { Chance } from './chance.ts'
import type { LocalStripe } from './local-stripe.ts'
import type { Event } from './objects.ts'

/** Handles a notification. Rejects on failure, so that it is sent again. */
export type Notify = (notification: Notification) => Promise<void>

/** Sends Stripe's events as unreliably as Stripe may: late, in another order, twice, or never. */
export type Courier = ReturnType<typeof createCourier>

/**
 * @param chance decides what happens to each event
 * @param lost_percent the percentage of events that never arrive
 * @param again_percent the percentage of acknowledgements that are lost, so that the event is sent again
 */
export function createCourier(
  stripe: LocalStripe,
  chance: Chance,
  { lost_percent = 0, again_percent = 20 }: { lost_percent?: number; again_percent?: number } = {},
) {
  const waiting: Event[] = []
  const collect = () => waiting.push(...stripe.takeEvents())

  /** Each attempt has a new signature. */
  async function send(event: Event, notify: Notify): Promise<void> {
    try {
      await notify(stripe.sign(event))
    } catch {
      waiting.push(event)
      return
    }
    if (chance.percent(again_percent)) waiting.push(event)
  }

  return {
    /** Sends up to `max` random events and returns their promises. */
    some(notify: Notify, { max }: { max: number }): Promise<void>[] {
      collect()
      const sent: Promise<void>[] = []
      for (let i = chance.below(max + 1); i > 0 && waiting.length > 0; i--) {
        const [event] = waiting.splice(chance.below(waiting.length), 1) as [Event]
        if (!chance.percent(lost_percent)) sent.push(send(event, notify))
      }
      return sent
    },
    /** Sends all remaining events at once, including repetitions. */
    async rest(notify: Notify): Promise<void> {
      collect()
      await Promise.all(waiting.splice(0).map((event) => notify(stripe.sign(event))))
    },
  }
}
