import { Readable } from 'node:stream'
import { type api, type Contact, contact, sliceOf } from '@svc/core/contract'
import { CSV_HEADER, type DecodedCore, writeContactsCsv } from '@svc/core/operate'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function contactRoutes(core: DecodedCore): Handlers<typeof api.contacts> {
  return {
    async create({ workspace_id, body }) {
      return { contact: await core.contacts.create(workspace_id, body) }
    },
    async list({ workspace_id, query }) {
      const { contacts, total, next_after } = await core.contacts.list(
        workspace_id,
        query,
        sliceOf(query),
      )
      return { contacts, pagination: paginationOf(total, query), next_after }
    },
    import: ({ workspace_id, body, csv }) =>
      csv
        ? core.contacts.importFile(workspace_id, csv.bytes, csv.options)
        : core.contacts.import(workspace_id, body.contacts, { dry_run: body.dry_run }),
    export({ workspace_id, query, reply }) {
      const { format, ...filter } = query
      const pages = core.contacts.export(workspace_id, filter)
      const [type, texts] =
        format === 'csv' ? ['text/csv', csvOf(pages)] : ['application/json', jsonOf(pages)]
      reply.header('content-type', `${type}; charset=utf-8`)
      reply.header('content-disposition', `attachment; filename="contacts.${format}"`)
      return Readable.from(texts)
    },
    async get({ workspace_id, params }) {
      return { contact: await core.contacts.get(workspace_id, params.id) }
    },
    async update({ workspace_id, params, body }) {
      return { contact: await core.contacts.update(workspace_id, params.id, body) }
    },
    async delete({ workspace_id, params }) {
      await core.contacts.delete(workspace_id, params.id)
      return { message: 'Contact deleted' }
    },
  }
}

async function* csvOf(pages: AsyncIterable<Contact[]>): AsyncGenerator<string> {
  let head = CSV_HEADER
  for await (const contacts of pages) {
    yield head + writeContactsCsv(contacts)
    head = ''
  }
  if (head) yield head
}

/** The envelope in pieces, one for each page of contacts. */
async function* jsonOf(pages: AsyncIterable<Contact[]>): AsyncGenerator<string> {
  let head = '{"success":true,"data":{"contacts":['
  let isFirst = true
  for await (const contacts of pages) {
    const texts = contacts.map((each) => JSON.stringify(contact.encode(each)))
    yield `${head}${isFirst ? '' : ','}${texts.join(',')}`
    head = ''
    isFirst = false
  }
  yield `${head}]}}`
}
