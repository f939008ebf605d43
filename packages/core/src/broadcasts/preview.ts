import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { BroadcastPreview } from '../contract/resources/broadcasts.ts'
import type { BulkParts } from '../messages/bulk-accept.ts'
import type { ContactRow } from '../rows/rows.ts'
import { availableOf } from '../rules/decide.ts'
import { inTurns } from '../runtime/in-turns.ts'
import { nextPart } from './audience.ts'
import { type BroadcastTime, countDepartures, openDepartures } from './departures.ts'
import { type Mailing, nextDrafts } from './drafts.ts'

/** What a broadcast would do now. Reads the whole audience. */
export async function previewOf(
  parts: BulkParts,
  identity: KeyIdentity,
  mailing: Mailing,
  time: BroadcastTime,
): Promise<BroadcastPreview> {
  const { credits } = parts.storage.read
  const sum = { contacts: 0, reachable: 0, suppressed: 0, no_address: 0 }
  const priced = { contacts: 0, messages: 0, credits: 0 }
  const samples: BroadcastPreview['samples'] = []
  const faults: BroadcastPreview['faults'] = []
  const departures = countDepartures(null)
  const departureOf = await openDepartures(parts.quietHours, { ...mailing, ...time })
  let after = ''
  for (let is_last = false; !is_last; ) {
    const size = Math.min(LIMITS.broadcast_step, LIMITS.broadcast_priced - priced.contacts)
    const part =
      size > 0
        ? await nextDrafts(parts, identity, mailing, { after, size })
        : {
            ...(await nextPart(parts.storage.read, mailing, {
              after,
              size: LIMITS.broadcast_step,
            })),
            found: null,
          }
    sum.contacts += part.read
    sum.reachable += part.contacts.length
    sum.suppressed += part.suppressed
    sum.no_address += part.no_address
    if (departureOf) {
      await inTurns(
        part.found?.drafts.map(({ index }) => index) ?? [...part.contacts.keys()],
        (i) => {
          departures.add(departureOf(part.contacts[i] as ContactRow))
        },
      )
    }
    if (part.found) {
      const { drafts, rejected } = part.found
      priced.contacts += part.contacts.length
      priced.messages += drafts.length
      for (const { index, to, content, price } of drafts) {
        priced.credits += price.credits
        if (samples.length === LIMITS.broadcast_samples) continue
        const contact_id = part.contacts[index]?.id ?? ''
        const { credits, segments } = price
        samples.push({ contact_id, to, content, credits, segments })
      }
      for (const { index, message } of rejected) {
        if (faults.length === LIMITS.broadcast_samples) break
        faults.push({ contact_id: part.contacts[index]?.id ?? '', message })
      }
    }
    ;({ cursor: after, is_last } = part)
  }
  const account = await credits.account(identity.workspace_id)
  if (!account) throw new Error(`workspace ${identity.workspace_id} has no credit account`)
  const { reachable, ...counts } = sum
  const factor = priced.contacts === 0 ? 1 : reachable / priced.contacts
  const sendable = Math.round(priced.messages * factor)
  return {
    ...counts,
    sendable,
    rejected: reachable - sendable,
    credits_needed: units(Math.round(priced.credits * factor)),
    is_estimate: reachable > priced.contacts,
    credits_balance: availableOf(account),
    departures: departureOf && departures.list(),
    template: mailing.source.used,
    samples,
    faults,
  }
}
