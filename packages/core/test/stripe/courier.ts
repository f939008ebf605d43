import type { Notification } from '../../src/billing/payment.ts'
import type { Chance } from './chance.ts'
import type { LocalStripe } from './local-stripe.ts'
import type { Event } from './objects.ts'

/** Takes a notification; rejects where that failed, so that it comes again. */
export type Notify = (notification: Notification) => Promise<void>

/** Carries what Stripe tells, as badly as the real one may: late, in another order, twice, or never. */
export type Courier = ReturnType<typeof createCourier>

/**
 * @param chance what happens to which event repeats with its seed.
 * @param lost_percent how many events never arrive.
 * @param again_percent of how many the acknowledgement gets lost, so that they come once more.
 */
export function createCourier(
  stripe: LocalStripe,
  chance: Chance,
  { lost_percent = 0, again_percent = 20 }: { lost_percent?: number; again_percent?: number } = {},
) {
  const waiting: Event[] = []
  const collect = () => waiting.push(...stripe.takeEvents())

  /** Every attempt is signed when it is made. */
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
    /** Sends up to `max` of what was told, any of it, without awaiting the end. */
    some(notify: Notify, { max }: { max: number }): Promise<void>[] {
      collect()
      const sent: Promise<void>[] = []
      for (let i = chance.below(max + 1); i > 0 && waiting.length > 0; i--) {
        const [event] = waiting.splice(chance.below(waiting.length), 1) as [Event]
        if (!chance.percent(lost_percent)) sent.push(send(event, notify))
      }
      return sent
    },
    /** Sends everything that has not arrived yet, or will come once more, at once. */
    async rest(notify: Notify): Promise<void> {
      collect()
      await Promise.all(waiting.splice(0).map((event) => notify(stripe.sign(event))))
    },
  }
}
