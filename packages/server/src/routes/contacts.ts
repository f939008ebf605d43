import { type api, type Contact, contact, sliceOf } from '@svc/core/contract'
import { CSV_HEADER, type DecodedCore, writeContactsCsv } from '@svc/core/operate'
import type { Export } from './exports.ts'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function contactRoutes(
  core: DecodedCore,
  exportRows: Export,
): Handlers<typeof api.contacts> {
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
      const { format, limit, ...filter } = query
      return exportRows<Contact>({
        ...{ reply, workspace_id, format, limit },
        name: 'contacts',
        pages: core.contacts.export(workspace_id, { ...filter, limit }),
        header: CSV_HEADER,
        csv: writeContactsCsv,
        json: (row) => contact.encode(row),
        positionOf: ({ id }) => id,
      })
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
