import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { CHANNELS, type Channel } from '../contract/resources/content.ts'
import type { suppressions as endpoints, Suppression } from '../contract/resources/suppressions.ts'
import type { SuppressionRow } from '../rows/rows.ts'
import { whatsappForms } from '../rules/whatsapp-numbers.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { SuppressionFilter, SuppressionPosition } from '../storage/ports/contacts.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The addresses to which a workspace sends nothing on a channel. */
export interface Suppressions<F extends Form = 'given'> {
  /**
   * Returns a page of the matching suppressions, newest first, and their total number. `after` is a `next_after`.
   * @throws SvcError `validation_error` for any other `after`.
   */
  list(
    workspaceId: string,
    filter: SuppressionFilter,
    page: Slice,
  ): Promise<{ suppressions: Suppression[]; total: number; next_after: string | null }>
  /** Stops sends to the address on the channel. Returns an existing suppression unchanged. */
  add(workspaceId: string, request: BodyIn<typeof endpoints.add, F>): Promise<Suppression>
  /** Allows sends to the address again. @throws SvcError `not_found`, also for a suppression of another workspace. */
  remove(workspaceId: string, suppression: { channel: Channel; address: string }): Promise<void>
}

export function createSuppressions(parts: {
  storage: Storage
  runtime: Runtime
}): Suppressions<'decoded'> {
  const { storage, runtime } = parts
  const { read } = storage
  return {
    async list(workspaceId, { channel, reason, search }, { limit, offset, after }) {
      const filter = { channel, reason, search: search?.toLowerCase() }
      const slice = { limit, offset }
      const [found, total] = await Promise.all([
        read.suppressions.list(workspaceId, filter, {
          ...withNext(slice),
          after: after === undefined ? undefined : readPosition(after),
        }),
        read.suppressions.count(workspaceId, filter),
      ])
      const { rows, next_after } = pageOf(found, slice, positionOf)
      return { suppressions: rows, total, next_after }
    },
    add: (workspaceId, { channel, address, reason }) =>
      storage.write(async ({ suppressions }) => {
        const row: SuppressionRow = {
          workspace_id: workspaceId,
          channel,
          address: emailKey(address),
          reason,
          created_at: runtime.now(),
        }
        await suppressions.add([row])
        const standing = await suppressions.of(workspaceId, [row.address])
        return standing.find((each) => each.channel === channel) ?? row
      }),
    async remove(workspaceId, { channel, address }) {
      const key = emailKey(address)
      // STOP from WhatsApp suppresses both forms of a number.
      const forms = channel === 'whatsapp' ? whatsappForms(key) : [key]
      const removed = await storage.write(async ({ suppressions }) => {
        const each: boolean[] = []
        for (const form of forms) {
          each.push(await suppressions.remove(workspaceId, { channel, address: form }))
        }
        return each
      })
      if (!removed.includes(true)) throw new SvcError('not_found', 'Suppression not found')
    },
  }
}

/** A suppression as a position of the list. It has no id, so the position names its place in the order. */
function positionOf({ created_at, channel, address }: SuppressionPosition): string {
  return Buffer.from(`${created_at.getTime()} ${channel} ${address}`).toString('base64url')
}

/** @throws SvcError `validation_error` for a text that `positionOf` does not write. */
function readPosition(after: string): SuppressionPosition {
  const text = Buffer.from(after, 'base64url').toString()
  const [, time, name, address] = /^(\d{1,15}) (\w+) (.+)$/s.exec(text) ?? []
  const channel = CHANNELS.find((each) => each === name)
  if (time === undefined || address === undefined || !channel) {
    throw invalid('after', 'after must be the next_after of an earlier page')
  }
  return { created_at: new Date(Number(time)), channel, address }
}
