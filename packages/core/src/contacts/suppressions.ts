import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { CHANNELS, type Channel } from '../contract/resources/content.ts'
import type { suppressions as endpoints, Suppression } from '../contract/resources/suppressions.ts'
import type { SuppressionRow } from '../rows/rows.ts'
import { suppressedForms } from '../rules/recipients.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type { SuppressionFilter, SuppressionPosition } from '../storage/ports/stores.ts'

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
  /**
   * Stops sends to the address on the channel; on WhatsApp also to the other forms of the number, and to the number by which
   * the person is known there. Returns an existing suppression unchanged.
   */
  add(workspaceId: string, request: BodyIn<typeof endpoints.add, F>): Promise<Suppression>
  /** Allows sends to the address again, and to all that `add` stops with it. @throws SvcError `not_found`, also for a suppression of another workspace. */
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
      storage.write(async (stores) => {
        const { suppressions } = stores
        const row: SuppressionRow = {
          workspace_id: workspaceId,
          channel,
          address: emailKey(address),
          reason,
          created_at: runtime.now(),
        }
        const names = await namesOf(stores, workspaceId, [row])
        await suppressions.add(names.map((name) => ({ ...row, ...name })))
        const standing = await suppressions.of(workspaceId, [row.address])
        return standing.find((each) => each.channel === channel) ?? row
      }),
    async remove(workspaceId, { channel, address }) {
      const key = emailKey(address)
      const removed = await storage.write(async (stores) => {
        const each: boolean[] = []
        for (const name of await namesOf(stores, workspaceId, [{ channel, address: key }])) {
          each.push(await stores.suppressions.remove(workspaceId, name))
        }
        return each
      })
      if (!removed.includes(true)) throw new SvcError('not_found', 'Suppression not found')
    },
  }
}

/**
 * The addresses, and on WhatsApp the other addresses of the same people: the workspace wrote to them, or the provider said so
 * when it accepted a message. The other forms of a number are left out, because the storage adds them.
 */
export async function namesOf<Named extends { channel: Channel; address: string }>(
  { conversations }: Pick<Writes, 'conversations'>,
  workspaceId: string,
  addresses: readonly Named[],
): Promise<Pick<Named, 'channel' | 'address'>[]> {
  const found: Pick<Named, 'channel' | 'address'>[] = []
  for (const { channel, address } of addresses) {
    found.push({ channel, address })
    if (channel !== 'whatsapp') continue
    const to = { channel, names: suppressedForms({ channel, address }), sender: '' }
    const own = (await conversations.with(to)).filter((one) => one.workspace_id === workspaceId)
    const names = own.flatMap((one) => [one.address, one.other_number ?? one.address])
    const others = new Set(names.filter((name) => !to.names.includes(name)))
    for (const other of others) found.push({ channel, address: other })
  }
  return found
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
