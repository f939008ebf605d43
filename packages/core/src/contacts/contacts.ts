import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { LIMITS } from '../contract/limits.ts'
import type {
  Contact,
  ContactFields,
  contacts as endpoints,
} from '../contract/resources/contacts.ts'
import type { Metadata } from '../contract/resources/messages.ts'
import type { ContactRow } from '../rows/rows.ts'
import { timeOfId } from '../runtime/runtime.ts'
import type { Reads, Writes } from '../storage/ports/storage.ts'
import type { ContactFilter } from '../storage/ports/stores.ts'
import {
  addressesOf,
  changeContact,
  fold,
  indexOf,
  optOutRows,
  type Suppressed,
  subscriptionsOf,
  suppressedBy,
} from './change.ts'
import {
  type ContactParts,
  type ImportOptions,
  type ImportReport,
  importContacts,
  type PreviewedRows,
  previewContacts,
  tooManyContacts,
} from './import.ts'

import {
  type FileOfContacts,
  type FileOptions,
  openImportFile,
  readImportFile,
} from './read-contacts.ts'

import { namesOf } from './suppressions.ts'

/** Selects contacts; an absent field does not restrict the list. */
export interface ContactQuery {
  /** A part of name, phone, email or external_id, in upper or lower case. */
  search?: string | undefined
  tag?: string | undefined
  /** Only contacts that are newer than the contact with this id: of these, the oldest. */
  newer_than?: string | undefined
}

/** Selects a page of tags, in their order. */
export interface TagQuery {
  /** 1 to 100. */
  limit: number
  /** Only tags after this one. */
  after?: string | undefined
  /** Only tags before this one: of these, the last. Not together with `after`. */
  before?: string | undefined
}

/** A tag that contacts have. */
export interface ContactTag {
  tag: string
  /** When the oldest contact that has the tag was created. */
  since: Date
}

/** The recipient of a message: its addresses and the values for placeholders. */
export interface Addressee {
  id: string
  name: string | null
  phone: string | null
  email: string | null
  external_id: string | null
  attributes: Metadata
}

/** The result of an import from a file. */
export interface FileReport extends Omit<ImportReport, 'errors'> {
  errors: (ImportReport['errors'][number] & { line: number })[]
  /** Columns whose use may be a mistake; missing without a warning. */
  warnings?: string[]
  /** How the file was read; only of a dry run. */
  file?: FileOfContacts['file']
}

/** How a file was read, and what an import of it would do. */
export interface FilePreview {
  file: FileOfContacts['file']
  /** Columns whose use may be a mistake. */
  warnings: string[]
  /** The rows in order; throws SvcError `validation_error` with the line of a row that cannot be read. */
  parts: AsyncGenerator<PreviewedRows>
}

/** The contacts of workspaces. */
export interface Contacts<F extends Form = 'given'> {
  /**
   * Creates a contact.
   * @throws SvcError `validation_error` without phone and email, or if another contact has the phone, email or external_id.
   */
  create(workspaceId: string, fields: BodyIn<typeof endpoints.create, F>): Promise<Contact>
  /** Returns a page of the matching contacts, newest first, and their total number. */
  list(
    workspaceId: string,
    query: ContactQuery,
    page: Slice,
  ): Promise<{ contacts: Contact[]; total: number; next_after: string | null }>
  /** Returns a page of the tags that contacts have, in their order, and whether more tags follow (with `before`: precede). */
  tags(workspaceId: string, query: TagQuery): Promise<{ tags: ContactTag[]; has_more: boolean }>
  /** Gives all contacts with the tag `by` in its place, or nothing, in steps. Returns their number. */
  replaceTag(workspaceId: string, tag: string, by: string | null): Promise<number>
  /** The contact with this e-mail address. @throws SvcError `not_found`. */
  byEmail(workspaceId: string, email: string): Promise<Contact>
  /** One contact. @throws SvcError `not_found`, also for another workspace's contact. */
  get(workspaceId: string, contactId: string): Promise<Contact>
  /**
   * Changes the fields in `fields` and keeps the others; null clears a field.
   * @throws SvcError in the same cases as `create` and `get`.
   */
  update(
    workspaceId: string,
    contactId: string,
    fields: BodyIn<typeof endpoints.update, F>,
  ): Promise<Contact>
  /** Removes the contact. The suppressions of its addresses stay. @throws SvcError `not_found`. */
  delete(workspaceId: string, contactId: string): Promise<void>
  /**
   * Creates and updates contacts. A rejected contact is in the report and does not stop the others. Each batch is one
   * transaction: after a failure of the database, a repeated import writes the rest.
   */
  import(
    workspaceId: string,
    contacts: readonly unknown[],
    options?: ImportOptions,
  ): Promise<ImportReport>
  /**
   * Imports the contacts of a table, such as the export of a spreadsheet or of an address book. The headings say what the columns
   * are, in several languages; phone numbers become E.164.
   * @throws SvcError `validation_error` with the line, for a file that cannot be read; nothing is imported then.
   */
  importFile(
    workspaceId: string,
    bytes: Uint8Array,
    options?: FileOptions & ImportOptions,
  ): Promise<FileReport>
  /**
   * Reads a file as `importFile` does, and says for each row what an import would do; nothing is written. The file may be larger
   * than that of one import: its contacts are then imported in several.
   * @throws SvcError `validation_error`, for a file whose header cannot be read.
   */
  previewFile(workspaceId: string, bytes: Uint8Array, options?: FileOptions): Promise<FilePreview>
  /**
   * Returns the matching contacts in pages, newest first, without contacts that are created meanwhile: at most `limit`, after
   * the contact `after`.
   */
  export(
    workspaceId: string,
    query: ContactQuery & { limit?: number | undefined; after?: string | undefined },
  ): AsyncGenerator<Contact[]>
  /** Returns the existing contacts with these ids, indexed by id, with one query. */
  forSending(workspaceId: string, contactIds: readonly string[]): Promise<Map<string, Addressee>>
}

export function createContacts({ storage, runtime, quotas }: ContactParts): Contacts<'decoded'> {
  const { read } = storage
  // A search reads every contact of its workspace. A workspace runs one search at a time, so that other workspaces can read.
  const inOrder = createOrder()

  async function find(stores: Reads, workspaceId: string, contactId: string): Promise<ContactRow> {
    const row = await stores.contacts.byId(workspaceId, contactId)
    if (!row) throw new SvcError('not_found', 'Contact not found')
    return row
  }

  async function change(
    stores: Writes,
    workspaceId: string,
    before: ContactRow | null,
    fields: ContactFields,
  ): Promise<Contact> {
    const { phone, email, external_id } = fields
    const email_key = email && emailKey(email)
    const holding = await stores.contacts.holding(workspaceId, {
      phones: phone ? [phone] : [],
      email_keys: email_key ? [email_key] : [],
      external_ids: external_id ? [external_id] : [],
    })
    const addresses = [phone, email_key, ...(before ? addressesOf(before) : [])].filter(
      (address) => address != null,
    )
    const suppressed = suppressedBy(await stores.suppressions.of(workspaceId, addresses))
    const at = runtime.now()
    const made = { id: before?.id ?? runtime.id(), workspace_id: workspaceId, at }
    const state = { index: indexOf(holding), suppressed, may_lift: true }
    const result = changeContact(before, fields, made, state)
    if (!result.ok) throw invalid(result.path, result.message)
    const { contact, opt_outs, lifts } = result
    await (before ? stores.contacts.update(contact) : stores.contacts.insert([contact]))
    await stores.suppressions.add(
      optOutRows(await namesOf(stores, workspaceId, opt_outs), {
        workspace_id: workspaceId,
        created_at: at,
      }),
    )
    for (const each of await namesOf(stores, workspaceId, lifts)) {
      await stores.suppressions.remove(workspaceId, { ...each, reason: 'opt_out' })
    }
    const now = await stores.suppressions.of(workspaceId, addressesOf(contact))
    return recordOf(contact, suppressedBy(now))
  }

  return {
    create: (workspaceId, fields) =>
      storage.write(async (stores) => {
        await stores.contacts.lock(workspaceId)
        const count = await stores.contacts.count(workspaceId, {})
        if (count >= quotas.contacts) throw invalid('', tooManyContacts(quotas.contacts))
        return change(stores, workspaceId, null, fields)
      }),
    async list(workspaceId, query, page) {
      const filter = filterOf(query)
      return inOrder(workspaceId, async () => {
        const found = await read.contacts.list(workspaceId, filter, withNext(page))
        const total = await read.contacts.count(workspaceId, filter)
        const { rows, next_after } = query.newer_than
          ? { rows: found.slice(-page.limit), next_after: found.at(-1)?.id ?? null }
          : pageOf(found, page, ({ id }) => id)
        return { contacts: await recordsOf(read, workspaceId, rows), total, next_after }
      })
    },
    async tags(workspaceId, { limit, after, before }) {
      const found = await read.contacts.tags(workspaceId, { limit: limit + 1, after, before })
      const rows = before === undefined ? found.slice(0, limit) : found.slice(-limit)
      return {
        tags: rows.map(({ tag, oldest_id }) => ({ tag, since: timeOfId(oldest_id) })),
        has_more: found.length > limit,
      }
    },
    async replaceTag(workspaceId, tag, by) {
      if (by === tag) return 0
      for (let replaced = 0; ; ) {
        const found = await storage.write(async ({ contacts }) => {
          await contacts.lock(workspaceId)
          const rows = await contacts.list(workspaceId, { tag }, { limit: TAG_STEP, offset: 0 })
          const updated_at = runtime.now()
          for (const row of rows) {
            const tags = new Set(row.tags.map((one) => (one === tag ? by : one)))
            tags.delete(null)
            await contacts.update({ ...row, tags: [...tags] as string[], updated_at })
          }
          return rows.length
        })
        replaced += found
        if (found < TAG_STEP) return replaced
      }
    },
    async get(workspaceId, contactId) {
      const row = await find(read, workspaceId, contactId)
      const suppressed = suppressedBy(await read.suppressions.of(workspaceId, addressesOf(row)))
      return recordOf(row, suppressed)
    },
    async byEmail(workspaceId, email) {
      const keys = { phones: [], email_keys: [emailKey(email)], external_ids: [] }
      const [row] = await read.contacts.holding(workspaceId, keys)
      if (!row) throw new SvcError('not_found', 'Contact not found')
      const suppressed = suppressedBy(await read.suppressions.of(workspaceId, addressesOf(row)))
      return recordOf(row, suppressed)
    },
    update: (workspaceId, contactId, fields) =>
      storage.write(async (stores) => {
        await stores.contacts.lock(workspaceId)
        const before = await find(stores, workspaceId, contactId)
        return change(stores, workspaceId, before, fields)
      }),
    delete: (workspaceId, contactId) =>
      storage.write(async ({ contacts }) => {
        await contacts.lock(workspaceId)
        const removed = await contacts.remove(workspaceId, contactId)
        if (!removed) throw new SvcError('not_found', 'Contact not found')
      }),
    import: (workspaceId, contacts, options = {}) =>
      importContacts({ storage, runtime, quotas }, workspaceId, contacts, options),
    async importFile(workspaceId, bytes, { dry_run, ...options } = {}) {
      const { contacts, lines, faults, file, warnings } = await readImportFile(bytes, options)
      const parts = { storage, runtime, quotas }
      const report = await importContacts(parts, workspaceId, contacts, { dry_run, faults })
      return {
        ...report,
        errors: report.errors.map((error) => ({ ...error, line: lines[error.index] as number })),
        ...(warnings.length > 0 && { warnings }),
        ...(dry_run && { file }),
      }
    },
    async previewFile(workspaceId, bytes, options = {}) {
      const { file, warnings, rows } = await openImportFile(bytes, options)
      const parts = previewContacts({ storage, runtime, quotas }, workspaceId, rows)
      return { file, warnings, parts }
    },
    async *export(workspaceId, { limit = LIMITS.export_rows, after, ...query }) {
      const part = { limit, after }
      for await (const rows of exportContacts(read, workspaceId, filterOf(query), part)) {
        yield await recordsOf(read, workspaceId, rows)
      }
    },
    async forSending(workspaceId, contactIds) {
      const rows = await read.contacts.byIds(workspaceId, contactIds)
      return new Map(
        rows.map(({ id, name, phone, email, external_id, attributes }) => [
          id,
          { id, name, phone, email, external_id, attributes },
        ]),
      )
    },
  }
}

function filterOf({ search, tag, newer_than }: ContactQuery) {
  return { tag, newer_than, search: search === undefined ? undefined : fold(search) }
}

async function recordsOf(
  read: Reads,
  workspaceId: string,
  rows: readonly ContactRow[],
): Promise<Contact[]> {
  const suppressed = suppressedBy(
    await read.suppressions.of(workspaceId, rows.flatMap(addressesOf)),
  )
  return rows.map((row) => recordOf(row, suppressed))
}

function recordOf(row: ContactRow, suppressed: Suppressed): Contact {
  const { workspace_id: _, email_key: __, search_text: ___, ...record } = row
  return { ...record, subscriptions: subscriptionsOf(row, suppressed) }
}

/** The contacts that lose a tag in one transaction: it takes a few milliseconds, and others wait meanwhile. */
const TAG_STEP = 50

/** The number of contacts in a page. A page takes a few milliseconds of the database and a few hundred kilobytes. */
const PAGE_ROWS = 500

/** Returns contacts that match the filter, newest first. Each page is read when the caller requests it. */
async function* exportContacts(
  read: Pick<Reads, 'contacts'>,
  workspaceId: string,
  filter: ContactFilter,
  part: { limit: number; after: string | undefined },
): AsyncGenerator<ContactRow[]> {
  let { after } = part
  for (let rest = part.limit; rest > 0; ) {
    const page = { limit: Math.min(PAGE_ROWS, rest), offset: 0, after }
    const rows = await read.contacts.list(workspaceId, filter, page)
    if (rows.length > 0) yield rows
    if (rows.length < page.limit) return
    rest -= rows.length
    after = rows.at(-1)?.id
    // A database in this thread blocks the event loop, so other work gets its turn between two pages.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** The maximum number of waiting calls of one workspace. */
const WAITING_MAX = 20

/** Runs the work of one workspace in sequence, and the work of different workspaces concurrently. */
type Order = <T>(workspaceId: string, work: () => Promise<T>) => Promise<T>

/** The returned function throws SvcError 429 while `waiting_max` calls of the workspace wait. */
export function createOrder(waiting_max = WAITING_MAX): Order {
  const queues = new Map<string, { last: Promise<unknown>; count: number }>()
  return async (workspaceId, work) => {
    const queue = queues.get(workspaceId) ?? { last: Promise.resolve(), count: 0 }
    if (queue.count > waiting_max) throw busy()
    queues.set(workspaceId, queue)
    queue.count += 1
    const done = queue.last.then(work)
    queue.last = done.catch(() => {})
    try {
      return await done
    } finally {
      queue.count -= 1
      if (queue.count === 0) queues.delete(workspaceId)
    }
  }
}

function busy(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 1,
  })
}
