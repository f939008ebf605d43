import { SvcError } from '../contract/errors.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Telemetry } from '../runtime/telemetry.ts'
import type { Accepted, Tracing } from '../runtime/tracing.ts'
import type { Answered } from './acceptance.ts'

/** Sees a send or a bulk to its end, and tells what became of it and how long that took. */
export type WatchedAccept = <Data>(
  channel: Channel,
  accept: () => Promise<Answered<Data>>,
  madeBy: (data: Data) => Accepted,
) => Promise<Answered<Data>>

/** Whoever is told may be nobody. */
export function watchAccepts(
  telemetry: Telemetry | undefined,
  tracing: Tracing | null = null,
): WatchedAccept {
  const counted: WatchedAccept = async (channel, accept, madeBy) => {
    const began = performance.now()
    try {
      const answered = await accept()
      if (answered.replayed) telemetry?.replayed(channel)
      else if (telemetry) {
        const { message_ids } = madeBy(answered.data)
        telemetry.accepted(channel, message_ids.length, performance.now() - began)
        telemetry.reached(channel, 'queued', message_ids.length)
      }
      return answered
    } catch (error) {
      telemetry?.refused(channel, error instanceof SvcError ? error.code : 'internal_error')
      throw error
    }
  }
  if (!tracing) return counted
  return (channel, accept, madeBy) =>
    tracing.accept(
      channel,
      () => counted(channel, accept, madeBy),
      ({ data }) => madeBy(data),
    )
}
