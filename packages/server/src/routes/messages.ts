import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { type api, exportedMessage, type Message, message } from '@svc/core/contract'
import { type DecodedCore, MESSAGES_CSV_HEADER, writeMessagesCsv } from '@svc/core/operate'
import { keyOf } from '../admission/authenticator.ts'
import type { Export } from './exports.ts'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function messageRoutes(
  { messages }: DecodedCore,
  exportRows: Export,
): Handlers<typeof api.messages> {
  return {
    async send({ identity, body, idempotency_key, replayed: markReplayed }) {
      const { data, replayed } = await messages.send(keyOf(identity), body, { idempotency_key })
      if (replayed) markReplayed()
      return data
    },
    async get({ viewer, params }) {
      return { message: await messages.get(viewer, params.id) }
    },
    async timeline({ viewer, params }) {
      return { timeline: await messages.timeline(viewer, params.id) }
    },
    async cancel({ viewer, params }) {
      return { message: await messages.cancel(viewer, params.id) }
    },
    async reschedule({ viewer, params, body }) {
      return { message: await messages.reschedule(viewer, params.id, body) }
    },
    async erase({ viewer, params, actor }) {
      await messages.erase(viewer, params.id, actor)
      return { message: 'Message erased' }
    },
    async redact({ viewer, params, actor }) {
      await messages.redact(viewer, params.id, actor)
      return { message: 'Content removed' }
    },
    async estimate({ identity, body, countBulkEstimate }) {
      if ('recipients' in body) await countBulkEstimate()
      return messages.estimate(keyOf(identity), body)
    },
    async list({ viewer, query, reply }) {
      const { messages: page, total, ...next } = await messages.listShort(viewer, query)
      const rest = { pagination: paginationOf(total, query), ...next }
      if (page.every(isWhole)) return { messages: page, ...rest }
      reply.type('application/json; charset=utf-8')
      const pieces = inPieces(page, rest, (id) => messages.get(viewer, id))
      return Readable.from(pieces, { objectMode: false })
    },
    export({ viewer, workspace_id, query, reply }) {
      const { format, ...selected } = query
      const pages = messages.export(viewer, selected)
      const { limit } = selected
      return exportRows({ ...exported, reply, workspace_id, format, limit, pages })
    },
  }
}

/** How messages are written into an export. */
export const exported = {
  name: 'messages',
  header: MESSAGES_CSV_HEADER,
  csv: writeMessagesCsv,
  json: (row: ShortMessage) => exportedMessage.encode(row),
  positionOf: ({ id }: ShortMessage) => id,
}

export function receivedRoutes({ received }: DecodedCore): Handlers<typeof api.received> {
  return {
    async list({ viewer, query }) {
      const { received: page, total, next_after } = await received.list(viewer, query)
      return { received: page, pagination: paginationOf(total, query), next_after }
    },
  }
}

type ShortMessage = Awaited<ReturnType<DecodedCore['messages']['listShort']>>['messages'][number]

function isWhole(one: ShortMessage): one is Message {
  return one.content !== null
}

/**
 * A page of messages as JSON, if some contents are long. Each long content is read in its own turn of the event loop,
 * after the client took the text before it, because 100 e-mails of 2 MB are 200 MB.
 */
async function* inPieces(
  page: readonly ShortMessage[],
  rest: object,
  read: (id: string) => Promise<Message>,
): AsyncGenerator<string> {
  let before = '{"success":true,"data":{"messages":['
  for (const one of page) {
    if (!isWhole(one)) await turn()
    const whole = isWhole(one) ? one : await read(one.id)
    yield before + JSON.stringify(message.encode(whole))
    before = ','
  }
  yield `],${JSON.stringify(rest).slice(1)}}`
}
