import type { Pdu } from 'smpp'
import smpp from './smsc-library.ts'
import type { Link } from './smsc-link.ts'

/** A deliver_sm or a data_sm that must reach the client. */
interface Delivery {
  system_id: string | null
  command: 'deliver_sm' | 'data_sm'
  fields: Record<string, unknown>
  settle(status: number | null): void
}

/** Delivers and redelivers. A delivery waits if no receiver is bound, or if its session ended without an answer. */
export function createDeliveries(links: () => readonly Link[]) {
  let waiting: Delivery[] = []
  const sent = new Map<Delivery, Link>()

  function give(delivery: Delivery): void {
    const fits = ({ system_id, mode }: Link) =>
      mode !== null &&
      mode !== 'transmitter' &&
      (delivery.system_id === null || delivery.system_id === system_id)
    const link = links().find(fits)
    if (!link) {
      waiting.push(delivery)
      return
    }
    sent.set(delivery, link)
    link.session.send(new smpp.PDU(delivery.command, { ...delivery.fields }), (response: Pdu) => {
      if (!sent.delete(delivery)) return
      delivery.settle(response.command_status)
    })
  }

  function giveWaiting(): void {
    const all = waiting
    waiting = []
    for (const delivery of all) give(delivery)
  }

  return {
    /** Resolves with the command_status of the answer; null if the SMSC was closed before. */
    deliver(
      system_id: string | null,
      fields: Record<string, unknown>,
      command: Delivery['command'] = 'deliver_sm',
    ): Promise<number | null> {
      return new Promise((settle) => give({ system_id, command, fields, settle }))
    },
    /** A client has bound. */
    bound: giveWaiting,
    /** A session has ended. */
    ended(link: Link): void {
      for (const [delivery, on] of sent) {
        if (on !== link) continue
        sent.delete(delivery)
        waiting.push(delivery)
      }
      giveWaiting()
    },
    /** The number of unanswered deliver_sm. */
    open: () => waiting.length + sent.size,
    close(): void {
      for (const { settle } of [...waiting, ...sent.keys()]) settle(null)
      waiting = []
      sent.clear()
    },
  }
}
