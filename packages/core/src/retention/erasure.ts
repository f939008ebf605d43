import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { SvcError } from '../contract/errors.ts'
import { ERASED } from '../contract/resources/message.ts'
import type { ContactRow, SuppressionRow } from '../rows/rows.ts'
import {
  addressesOf,
  isAbout,
  isTo,
  type Recipient,
  readRecipient,
  whatsappForms,
} from '../rules/recipients.ts'

import type { Runtime } from '../runtime/runtime.ts'
import { MONTHS_LOCK, MonthMisfit, type Reads, type Storage } from '../storage/ports/storage.ts'
import type { IdWindow, SearchedTable } from '../storage/ports/stores.ts'
import { erasedBody, namesOf, read as readBody } from '../webhooks/erased-body.ts'

/** The numbers of rows that hold an address, or that an erasure changed. */
export interface ErasureReport {
  /** Workspaces with at least one such row. */
  workspaces: number
  /** Messages to the address whose sending has ended. */
  messages: number
  /** Messages that wait to be sent. In an erasure: the messages that it canceled; `messages` counts them too. */
  queued: number
  /** Messages in flight at a provider, which were not erased. Always 0 in a count. */
  under_way: number
  /** Messages received from the address. */
  received: number
  /** Events that name the address; their deliveries are not counted. */
  events: number
  conversations: number
  verifications: number
  contacts: number
  /** Stored bulk responses of the last 24 hours, kept for replay. */
  answers: number
  /** Rejected recipients of bulks. */
  rejections: number
  /** Suppressions of the address: kept, except with `forget_suppressions`. */
  suppressions: number
  /** Other addresses of the same contacts, which need an erasure of their own. */
  other_addresses: string[]
  /** Detached months that were not searched completely, because a migration changed the tables since. All else was searched. */
  months_not_searched: string[]
}

/** The scope of an erasure. */
export interface ErasureOptions {
  /** The workspace. Default: every workspace, and data without a workspace. */
  workspace_id?: string | undefined
  /** Receives the number of finished workspaces and the number of all workspaces. */
  onProgress?: ((progress: { done: number; total: number }) => void) | undefined
}

/** Erasure of a recipient's personal data, for the operator. */
export interface Recipients {
  /**
   * Counts the rows that an erasure would find; changes nothing.
   * @throws SvcError `validation_error` when `address` is neither a phone number nor an e-mail address.
   */
  look(address: string, options?: ErasureOptions): Promise<ErasureReport>
  /**
   * Removes an address, the other names of a person at WhatsApp and the content of all its messages in small transactions; a server may run meanwhile. Queued
   * messages are canceled and refunded first. The ledger does not change; suppressions stay, except with
   * `forget_suppressions`. After an interruption, another run erases the rest.
   * @throws SvcError in the same cases as `look`, and `rate_limit_exceeded` while another erasure runs, or a month is detached or attached, also
   *   if that was interrupted: nothing was erased then.
   */
  erase(
    address: string,
    options?: ErasureOptions & { forget_suppressions?: boolean | undefined },
    actor?: Actor,
  ): Promise<ErasureReport>
}

/** The number of rows that one query searches, and that one transaction changes. */
const WINDOW_ROWS = 2_000
const STEP_ROWS = 250

/** A month is detached or attached within minutes. */
const RETRY_AFTER_S = 60

/** The number of workspaces that one query reads. */
const WORKSPACES = 100

/** The workspace id of received data that belongs to no workspace. */
const NO_WORKSPACE = ''

export function createRecipients({
  storage,
  runtime,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'id' | 'now'>
}): Recipients {
  async function through(
    address: string,
    { workspace_id, onProgress = () => {} }: ErasureOptions,
    changes: Changes | null,
  ): Promise<ErasureReport> {
    const recipient = readRecipient(address)
    const ids = workspace_id === undefined ? await workspaceIds(storage) : [workspace_id]
    const report = emptyReport()
    const places = await placesOf(storage)
    const notSearched = new Set<string>()
    if (workspace_id === undefined && changes) {
      await storage.write(({ erasure }) => erasure.removeParts(recipient))
    }
    for (const [done, id] of ids.entries()) {
      const search = { storage, places, notSearched, runtime, workspaceId: id, recipient, changes }
      add(report, await searchWorkspace(search))
      onProgress({ done: done + 1, total: ids.length })
    }
    return { ...report, months_not_searched: [...notSearched] }
  }
  return {
    look: (address, options = {}) => through(address, options, null),
    async erase(address, { forget_suppressions = false, ...options } = {}, actor = SERVICE) {
      readRecipient(address)
      const erased = {
        workspace_id: options.workspace_id ?? NO_WORKSPACE,
        action: 'recipient.erased',
        details: { forget_suppressions },
      } as const
      const work = async () => {
        await assertNoMove(storage)
        // Before the first step, so that an interrupted erasure is recorded too.
        await storage.write(({ audit }) => audit.record(auditRow(runtime, actor, erased)))
        return through(address, options, { forget_suppressions })
      }
      if (!storage.alone || !storage.detachedMonths) return work()
      const report = await storage.alone(MONTHS_LOCK, work)
      if (report) return report
      throw notNow(
        'A month of history is being detached or attached, or another erasure runs: erase again after it',
      )
    },
  }
}

/** @throws SvcError when the detachment or the attachment of a month was interrupted: rows of the month are in two places. */
async function assertNoMove({ detachedMonths }: Storage): Promise<void> {
  const months = (await detachedMonths?.()) ?? []
  const moving = months.find(({ unfinished }) => unfinished !== null)
  if (!moving) return
  const { month, unfinished } = moving
  throw notNow(
    `The ${unfinished === 'attach' ? 'attachment' : 'detachment'} of the month ${month} was interrupted: run svc partitions ${unfinished} ${month}, and then erase again`,
  )
}

const notNow = (message: string) =>
  new SvcError('rate_limit_exceeded', message, { retry_after_s: RETRY_AFTER_S })

/** The options of an erasure; null for a search that only counts. */
type Changes = { forget_suppressions: boolean }

interface Search {
  storage: Storage
  /** The histories, and the months that are detached from them. */
  places: readonly Place[]
  /** The months that were not searched completely; searches add to them. */
  notSearched: Set<string>
  runtime: Pick<Runtime, 'now'>
  workspaceId: string
  recipient: Recipient
  changes: Changes | null
}

type Found = Omit<ErasureReport, 'workspaces' | 'months_not_searched'>

/** Where messages, events and bulks are. */
interface Place extends Pick<Storage, 'write'> {
  /** The detached month; null for the histories. */
  month: string | null
  read<T>(work: (erasure: Reads['erasure']) => Promise<T>): Promise<T>
}

async function placesOf({ read, write, detachedMonths }: Storage): Promise<Place[]> {
  const months = (await detachedMonths?.()) ?? []
  return [
    { month: null, read: (work) => work(read.erasure), write },
    ...months.map(
      ({ month, write }): Place => ({
        ...{ month, write },
        read: (work) => write((stores) => work(stores.erasure)),
      }),
    ),
  ]
}

/** Searches for all names of the recipient. The conversations are last, because they know the names after an interruption. */
async function searchWorkspace(search: Search): Promise<Found> {
  const others = await otherNames(search)
  const { workspaces: _, months_not_searched: __, ...found } = emptyReport()
  for (const address of [search.recipient.address, ...others]) {
    const recipient = { ...search.recipient, address }
    addTo(found, await searchFor({ ...search, recipient }))
  }
  found.other_addresses = found.other_addresses.filter((one) => !others.includes(one))
  found.conversations = await searchConversations(search, others)
  found.verifications = await searchVerifications(search, others)
  return found
}

/** Searches messages first: the cancellation of a message inserts an event, which the search of events must find. */
async function searchFor(search: Search): Promise<Omit<Found, 'conversations' | 'verifications'>> {
  return {
    ...(await searchMessages(search)),
    received: await searchReceived(search),
    events: await searchEvents(search),
    answers: await searchAnswers(search),
    rejections: await searchRejections(search),
    suppressions: (await searchSuppressions(search)).length,
    ...(await searchContacts(search)),
  }
}

/** The other forms of a number, and the numbers and ids by which WhatsApp knows the person. */
async function otherNames({ storage, workspaceId, recipient }: Search): Promise<string[]> {
  const { kind, address } = recipient
  if (kind === 'email') return []
  const forms = whatsappForms(address)
  const names = await storage.read.erasure.knownNames(workspaceId, forms)
  const all = new Set([...forms, ...names.flatMap(whatsappForms)])
  all.delete(address)
  return [...all]
}

async function searchMessages(
  search: Search,
): Promise<Pick<Found, 'messages' | 'queued' | 'under_way'>> {
  const { storage, runtime, workspaceId, recipient, changes } = search
  const found = { messages: 0, queued: 0, under_way: 0 }
  await eachWindow(search, 'messages', async (place, window) => {
    const rows = await place.read((erasure) => erasure.messagesTo(workspaceId, recipient, window))
    const theirs = rows.filter((row) => addressesOf(row).some((one) => isTo(recipient, one)))
    const waiting = theirs.filter(({ is_queued }) => is_queued).map(({ id }) => id)
    if (!changes) {
      found.queued += waiting.length
      found.messages += theirs.length - waiting.length
      return
    }
    for (const message_ids of stepsOf(waiting)) {
      const at = runtime.now()
      const outcomes = await storage.hot.cancel({ workspace_id: workspaceId, message_ids, at })
      found.queued += outcomes.filter((outcome) => outcome === 'canceled').length
    }
    for (const step of stepsOf(theirs.map(({ id }) => id))) {
      const done = await place.write(({ erasure }) =>
        erasure.messages(workspaceId, step, runtime.now()),
      )
      found.messages += done.length
      found.under_way += step.length - done.length
    }
  })
  return found
}

async function searchReceived(search: Search): Promise<number> {
  const { storage, places, workspaceId, recipient, changes } = search
  let found = 0
  const histories = { ...search, places: places.slice(0, 1) }
  await eachWindow(histories, 'received_messages', async (_, window) => {
    const rows = await storage.read.erasure.receivedFrom(workspaceId, recipient, window)
    const ids = rows.filter(({ sender }) => isTo(recipient, sender)).map(({ id }) => id)
    found += ids.length
    if (!changes) return
    for (const step of stepsOf(ids)) {
      await storage.write(({ erasure }) => erasure.removeReceived(workspaceId, step))
    }
  })
  return found
}

async function searchEvents(search: Search): Promise<number> {
  const { workspaceId, recipient, changes } = search
  let found = 0
  await eachWindow(search, 'events', async (place, window) => {
    const rows = await place.read((erasure) => erasure.eventsNaming(workspaceId, recipient, window))
    const about = rows.filter(({ body }) =>
      namesOf(readBody(body)).some((name) => isTo(recipient, name)),
    )
    found += about.length
    if (!changes) return
    for (const step of stepsOf(about)) {
      const erased = step.map(({ id, body }) => ({ id, body: erasedBody(body) ?? body }))
      const messageIds = step.flatMap(({ message_id }) => message_id ?? [])
      const ofNone = step.filter(({ message_id }) => message_id === null).map(({ id }) => id)
      await place.write(async ({ erasure }) => {
        await erasure.rewriteEvents(workspaceId, erased)
        await erasure.forgetResponsesAbout(workspaceId, messageIds)
        await erasure.forgetResponsesTo(workspaceId, ofNone)
      })
    }
  })
  return found
}

async function searchAnswers(search: Search): Promise<number> {
  const { storage, workspaceId, recipient, changes } = search
  let found = 0
  let after: { route: string; key: string } | null = null
  for (;;) {
    const page = { after, limit: STEP_ROWS }
    const rows = await storage.read.erasure.answers(workspaceId, recipient, page)
    for (const row of rows) {
      const response = withoutRecipient(row.response, recipient)
      if (response === row.response) continue
      found += 1
      const answer = { ...row, response }
      if (changes) await storage.write(({ erasure }) => erasure.rewriteAnswer(workspaceId, answer))
    }
    after = rows.at(-1) ?? null
    if (rows.length < STEP_ROWS) return found
  }
}

async function searchRejections(search: Search): Promise<number> {
  const { workspaceId, recipient, changes } = search
  let found = 0
  await eachWindow(search, 'bulk_rejections', async (place, window) => {
    const rows = await place.read((erasure) => erasure.rejections(workspaceId, window))
    const theirs = rows.filter((row) => isAbout(recipient, row.recipient))
    found += theirs.length
    if (!changes) return
    for (const step of stepsOf(theirs)) {
      await place.write(({ erasure }) => erasure.eraseRejections(workspaceId, step))
    }
  })
  return found
}

async function searchConversations(search: Search, others: readonly string[]): Promise<number> {
  const { storage, workspaceId, recipient, changes } = search
  const found = await storage.read.erasure.conversations(workspaceId, recipient, others)
  if (changes && found > 0) {
    await storage.write(({ erasure }) =>
      erasure.removeConversations(workspaceId, recipient, others),
    )
  }
  return found
}

/** A message to the second address of a removed verification is canceled: its code could not be checked any more. */
async function searchVerifications(search: Search, others: readonly string[]): Promise<number> {
  const { storage, runtime, workspaceId, recipient, changes } = search
  let found = 0
  for (const address of [recipient.address, ...others]) {
    const theirs = await storage.read.verifications.naming(workspaceId, address)
    found += theirs.length
    if (!changes || theirs.length === 0) continue
    const removed = theirs.filter((one) => one.recipient === address)
    for (const message_ids of stepsOf(removed.flatMap((one) => one.message_ids))) {
      await storage.hot.cancel({ workspace_id: workspaceId, message_ids, at: runtime.now() })
    }
    await storage.write(({ verifications }) =>
      verifications.forget(workspaceId, address, runtime.now()),
    )
  }
  return found
}

/** Suppressions stay by default: a recipient who opted out must not get messages because of the erasure. */
async function searchSuppressions(search: Search): Promise<SuppressionRow[]> {
  const { storage, workspaceId, recipient, changes } = search
  const found = await storage.read.suppressions.of(workspaceId, [recipient.address])
  if (changes?.forget_suppressions && found.length > 0) {
    await storage.write(async ({ suppressions }) => {
      for (const { channel, address } of found) {
        await suppressions.remove(workspaceId, { channel, address })
      }
    })
  }
  return found
}

async function searchContacts(
  search: Search,
): Promise<Pick<Found, 'contacts' | 'other_addresses'>> {
  const { storage, workspaceId, changes } = search
  const { kind, address } = search.recipient
  const found = await storage.read.contacts.holding(workspaceId, {
    phones: kind === 'phone' ? [address] : [],
    email_keys: kind === 'email' ? [address] : [],
    external_ids: [],
  })
  if (changes && found.length > 0) {
    await storage.write(async ({ contacts }) => {
      await contacts.lock(workspaceId)
      for (const { id } of found) await contacts.remove(workspaceId, id)
    })
  }
  const addresses = found.flatMap(({ phone, email_key }: ContactRow) => [phone, email_key])
  const others = addresses.filter((one) => one !== null && one !== address) as string[]
  return { contacts: found.length, other_addresses: others }
}

/** Calls `work` for the id ranges of a table in a workspace, from the oldest row on, in each place where the tables fit. */
async function eachWindow(
  { places, notSearched, workspaceId }: Pick<Search, 'places' | 'notSearched' | 'workspaceId'>,
  table: SearchedTable,
  work: (place: Place, window: IdWindow) => Promise<void>,
): Promise<void> {
  for (const place of places) {
    try {
      for (let after_id = ''; ; ) {
        const next = { after_id, rows: WINDOW_ROWS }
        const last_id = await place.read((erasure) => erasure.windowEnd(workspaceId, table, next))
        if (last_id === null) break
        await work(place, { after_id, last_id })
        after_id = last_id
      }
    } catch (error) {
      if (place.month === null || !(error instanceof MonthMisfit)) throw error
      notSearched.add(place.month)
    }
  }
}

function* stepsOf<Row>(rows: readonly Row[]): Generator<Row[]> {
  for (let at = 0; at < rows.length; at += STEP_ROWS) yield rows.slice(at, at + STEP_ROWS)
}

/** The stored bulk response without the address; it can still be replayed. */
function withoutRecipient(response: string, recipient: Recipient): string {
  const data = JSON.parse(response) as Record<'messages' | 'errors', { to?: unknown }[]>
  for (const row of [...(data.messages ?? []), ...(data.errors ?? [])]) {
    if (isTo(recipient, row.to)) row.to = ERASED
  }
  return JSON.stringify(data)
}

async function workspaceIds({ read }: Storage): Promise<string[]> {
  const ids = [NO_WORKSPACE]
  for (;;) {
    const rows = await read.workspaces.list({ limit: WORKSPACES, offset: ids.length - 1 })
    ids.push(...rows.map(({ id }) => id))
    if (rows.length < WORKSPACES) return ids
  }
}

function emptyReport(): ErasureReport {
  return {
    workspaces: 0,
    messages: 0,
    queued: 0,
    under_way: 0,
    received: 0,
    events: 0,
    conversations: 0,
    verifications: 0,
    contacts: 0,
    answers: 0,
    rejections: 0,
    suppressions: 0,
    other_addresses: [],
    months_not_searched: [],
  }
}

function add(report: ErasureReport, found: Found): void {
  const { other_addresses: _, ...counts } = found
  if (Object.values(counts).some((count) => count > 0)) report.workspaces += 1
  addTo(report, found)
}

function addTo(
  report: Found,
  { other_addresses, ...found }: Pick<Found, 'other_addresses'> & Partial<Found>,
): void {
  for (const [name, count] of Object.entries(found) as [keyof typeof found, number][]) {
    report[name] += count
  }
  report.other_addresses = [...new Set([...report.other_addresses, ...other_addresses])]
}
